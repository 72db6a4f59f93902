"""How many passes SPA and FastAnchor make on disk, where a pass guesses the anchors to come.

    python benchmarks/lookahead.py [--rows 100000] [--seeds 3]

Rows are in memory, but count as being on disk. "alone" is one pass for each anchor, as in memory.
Seconds are those of the processor, without reading, so they show what the guesses cost. The anchors
must be the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.data.memory import MemoryBlocks
from provenmf.methods.separable.fast_anchor import fast_anchor
from provenmf.methods.separable.spa import spa

METHODS: dict[str, Callable[..., Any]] = {"SPA": spa, "FastAnchor": fast_anchor}


class SlowBlocks(MemoryBlocks):
    """Rows that count as being elsewhere, and how many of them were read."""

    in_memory = False
    rows_read = 0

    def read(self, start: int, stop: int) -> Any:
        self.rows_read += stop - start
        return super().read(start, stop)


class CountedBlocks(SlowBlocks):
    """The same in memory, where nothing is guessed."""

    in_memory = True


def mixtures(rng: np.random.Generator, n: int, d: int, k: int, noise: float) -> Any:
    rows = rng.dirichlet(np.full(k, 0.1), n) @ rng.random((k, d))
    return rows + noise * rng.standard_normal((n, d))


def words(rng: np.random.Generator, n: int, d: int, k: int) -> Any:
    """Sparse counts of documents of one to three topics."""
    means = rng.dirichlet(np.full(k, 0.1), n) @ rng.dirichlet(np.full(d, 0.02), k)
    return sp.csr_array(rng.poisson(80 * means).astype(np.float64))


DATA: dict[str, tuple[int, Callable[[np.random.Generator, int], Any]]] = {
    "mixtures of 10, noise .05": (10, lambda rng, n: mixtures(rng, n, 100, 10, 0.05)),
    "mixtures of 50, exact": (50, lambda rng, n: mixtures(rng, n, 200, 50, 0.0)),
    "mixtures of 50, noise .05": (50, lambda rng, n: mixtures(rng, n, 200, 50, 0.05)),
    "mixtures of 50, noise .3": (50, lambda rng, n: mixtures(rng, n, 200, 50, 0.3)),
    "uniform": (20, lambda rng, n: rng.random((n, 60))),
    "normal": (20, lambda rng, n: rng.standard_normal((n, 60))),
    "sparse counts": (20, lambda rng, n: words(rng, n // 10, 2000, 20)),
}


def run(method: str, blocks: SlowBlocks, k: int) -> tuple[Any, float, float]:
    """Anchors, passes and seconds."""
    began = time.process_time()
    found = METHODS[method](blocks, k).anchors
    return found, blocks.rows_read / blocks.n_rows, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="few rows, one seed")
    a = parser.parse_args()
    if a.quick:
        a.rows, a.seeds = 5000, 1
    print(f"{a.rows} rows in {a.blocks} blocks")
    print(
        f"{'data':27}{'method':12}{'k':>4}{'alone':>8}{'passes':>18}{'CPU s alone':>13}{'CPU s':>8}"
    )
    for name, (k, make) in DATA.items():
        for method in METHODS:
            alone, ahead = [], []
            for seed in range(a.first_seed, a.first_seed + a.seeds):
                data = make(np.random.default_rng(seed), a.rows)
                size = -(-data.shape[0] // a.blocks)
                alone.append(run(method, CountedBlocks(data, block_rows=size), k))
                ahead.append(run(method, SlowBlocks(data, block_rows=size), k))
                assert np.array_equal(alone[-1][0], ahead[-1][0]), (name, method, seed)
            passes = " ".join(f"{p:.0f}" for _, p, _ in ahead)
            print(
                f"{name:27}{method:12}{k:>4}{alone[0][1]:>8.0f}{passes:>18}"
                f"{min(s for *_, s in alone):>9.2f}{min(s for *_, s in ahead):>7.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
