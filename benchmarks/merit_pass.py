"""Seconds of one Frank-Wolfe pass over all rows: blocked, literal column loop, FastGradient.

    python benchmarks/merit_pass.py [--quick] [--sizes 2000,5000]

(d, K) = (50, 40), Dirichlet(1) weights, SNR 10 dB. The literal loop does what Algorithm 1 prints:
one gradient per row, by two matrix-vector products. One FastGradient iteration works on the whole
n x n matrix. Peak memory is what a fresh process holds at the most, Python and data included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from provenmf import FastGradient
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.merit.mixture import Mixture

LAM, MU = 1.0, 1e-5
CONTENDERS = ("blocked", "literal", "fast gradient")


def blocked(X: NDArray[np.float64], passes: int) -> float:
    mixture = Mixture(as_blocks(X, block_rows=len(X)), np.arange(len(X)), exact=True)
    started = time.perf_counter()
    for t in range(passes):
        mixture.standing(mixture.penalties(LAM, MU))
        mixture.move(2 / (t + 2))
    return (time.perf_counter() - started) / passes


def literal(X: NDArray[np.float64], passes: int) -> float:
    """Algorithm 1 as printed, over C in sparse rows (a dense C would be n x n)."""
    n = len(X)
    rows: list[dict[int, float]] = [{} for _ in range(n)]
    started = time.perf_counter()
    for t in range(passes):
        alpha = 2 / (t + 2)
        top = np.zeros(n)
        for row in rows:
            for i, c in row.items():
                top[i] = max(top[i], c)
        r = n * np.exp(-top / MU)
        for row in rows:
            for i, c in row.items():
                r[i] += np.exp((c - top[i]) / MU) - np.exp(-top[i] / MU)
        unused = LAM * np.exp(-top / MU) / r
        for x, row in zip(X, rows):
            mixed = sum((c * X[i] for i, c in row.items()), np.zeros(X.shape[1]))
            g = X @ (mixed - x) + unused
            for i, c in row.items():
                g[i] += LAM * (np.exp((c - top[i]) / MU) - np.exp(-top[i] / MU)) / r[i]
            best = int(np.argmin(g))
            for i in row:
                row[i] *= 1 - alpha
            row[best] = row.get(best, 0.0) + alpha
    return (time.perf_counter() - started) / passes


def fast_gradient(X: NDArray[np.float64], passes: int) -> float:
    """The difference of two runs: what starts and ends both is not counted."""

    def seconds(iterations: int) -> float:
        started = time.perf_counter()
        FastGradient(40, max_iter=iterations, tol=0.0, certify=False, random_state=0).fit(X)
        return time.perf_counter() - started

    return (seconds(1 + passes) - seconds(1)) / passes


def measure(contender: str, n: int) -> tuple[float, float]:
    X = dirichlet_mixtures(n, 50, 40, snr=10, random_state=0).data
    run = {"blocked": blocked, "literal": literal, "fast gradient": fast_gradient}[contender]
    if contender != "literal":
        run(dirichlet_mixtures(80, 50, 40, snr=10, random_state=0).data, 2)  # compile
    seconds = run(X, 10)
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return seconds, float(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no VmHWM line: peak memory needs Linux")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", default="2000,5000")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*json.loads(arguments.one))))
        return
    sizes = [300] if arguments.quick else [int(n) for n in arguments.sizes.split(",")]
    print(f"{'n':>8}  {'one pass of':16}{'seconds':>10}{'peak MB':>10}{'times blocked':>15}")
    for n in sizes:
        base = None
        for contender in CONTENDERS:
            command = [sys.executable, __file__, "--one", json.dumps([contender, n])]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds, peak = json.loads(output.splitlines()[-1])
            base = base or seconds
            print(f"{n:>8}  {contender:16}{seconds:>10.4f}{peak:>10.0f}{seconds / base:>15.1f}")


if __name__ == "__main__":
    main()
