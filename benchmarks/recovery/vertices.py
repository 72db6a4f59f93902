"""Components behind anchors: errors of five ways to average rows, against noise.

    python -m benchmarks.recovery.vertices [--quick]

Rows mix k = 5 vertices in 30 columns with weights that sum to one, plus white noise; the error is
the mean distance of matched components as a share of their mean length, in medians over the seeds.
Ours, `vertices=True`, is told nothing. The others are written here as their papers have them and
get what they must be told (oracles): of several settings the one that is best by the truth.

    smoothed SPA     Nadisic, Gillis & Kervazo 2023: in each step of SPA the mean of the m rows
                     farthest along the direction found; m = 5, 10, 20, 50, 100
    SVS              Jin, Ke & Luo 2024: SPA among L k-means centres; L = 2k, 5k, 10k, 20k
    pruning          Mao, Sarkar & Chakrabarti 2021: long rows far from their 10 neighbours are left
                     out, a share of .1, .25, .5, .75 of them, before SPA
    vertices, noise  ours with the true noise of the rows
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from benchmarks.peers.vertices import centres, pruned, successive

from provenmf import SPA, XRAY, FastAnchor
from provenmf.metrics.matching import best_assignment

COLUMNS, K = 30, 5
# Share of pure rows, concentration of the others' Dirichlet weights, largest weight.
KINDS = {
    "40 % pure": (0.4, 1.0, 1.0),
    "5 % pure": (0.05, 1.0, 1.0),
    "0.5 % pure": (0.005, 1.0, 1.0),
    "Dirichlet(.1)": (0.0, 0.1, 1.0),
    "Dirichlet(.3)": (0.0, 0.3, 1.0),
    "at most .85": (0.0, 1.0, 0.85),
}


def noisy_rows(kind, n, noise, seed):
    pure, concentration, most = KINDS[kind]
    rng = np.random.default_rng(seed)
    vertices = rng.random((K, COLUMNS))
    weights = rng.dirichlet(np.full(K, concentration), 4 * n)
    weights = weights[weights.max(axis=1) <= most][:n]
    number = int(pure * len(weights))
    weights[:number] = np.eye(K)[np.arange(number) % K]
    return weights @ vertices + noise * rng.standard_normal((len(weights), COLUMNS)), vertices


def ours(method, **options):
    def run(rows, noise):
        if options.get("told"):
            chosen = {"vertices": True, "row_errors": np.full(len(rows), noise)}
        else:
            chosen = dict(options)
        return [method(K, certify=False, **chosen).fit(rows).components_]

    return run


METHODS = {
    "SPA": ours(SPA, constraint="simplex"),
    "vertices": ours(SPA, constraint="simplex", vertices=True),
    "v., sums < 1": ours(SPA, vertices=True),
    "v., noise": ours(FastAnchor, told=True),
    "FastAnchor v.": ours(FastAnchor, vertices=True),
    "XRAY v.": ours(XRAY, vertices=True),
    "smoothed SPA": lambda rows, _: [successive(rows, K, m) for m in (5, 10, 20, 50, 100)],
    "SVS": lambda rows, _: [successive(centres(rows, m * K), K) for m in (2, 5, 10, 20)],
    "pruning": lambda rows, _: [successive(pruned(rows, K, s), K) for s in (0.1, 0.25, 0.5, 0.75)],
}


def error(found, truth):
    distances = np.linalg.norm(found[:, None] - truth[None], axis=2)
    rows, columns = best_assignment(-distances)
    return distances[rows, columns].mean() / np.linalg.norm(truth, axis=1).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows, one seed, one noise")
    quick = parser.parse_args().quick
    n, seeds, levels = (600, 1, (0.03,)) if quick else (3000, 3, (0.003, 0.01, 0.03, 0.1))
    print(f"{'':22}" + "".join(f"{name:>14}" for name in METHODS))
    spent = dict.fromkeys(METHODS, 0.0)
    for kind in KINDS:
        for noise in levels:
            table = []
            for seed in range(seeds):
                rows, truth = noisy_rows(kind, n, noise, seed)
                rows = np.maximum(rows, 0.0)
                line = []
                for name, run in METHODS.items():
                    began = time.process_time()
                    candidates = run(rows, noise)
                    spent[name] += time.process_time() - began
                    line.append(min(error(found, truth) for found in candidates))
                table.append(line)
            cells = "".join(f"{value:14.4f}" for value in np.median(table, axis=0))
            print(f"{kind:14} {noise:6g} {cells}", flush=True)
    print(f"{'processor seconds':22}" + "".join(f"{value:14.1f}" for value in spent.values()))


if __name__ == "__main__":
    main()
