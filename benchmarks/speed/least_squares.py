"""Batched nonnegative and simplex least squares against a loop over scipy's nnls.

The loop is timed on a sample of the rows and scaled up; "difference" is the largest one between
our weights and scipy's on that sample.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.optimize import nnls

from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares

SIZES = [
    (1_000_000, 10, 50, 0.5),
    (100_000, 30, 100, 0.2),
    (50_000, 50, 200, 0.5),
    (50_000, 100, 300, 0.1),
]


def seconds(function, *arguments, **options):
    started = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - started, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows")
    quick = parser.parse_args().quick
    nonnegative_least_squares(np.eye(2), -np.eye(2))  # compile
    print(
        f"{'rows':>8} {'k':>4} {'support':>8} {'nonnegative':>12} {'warm':>7} {'simplex':>8} "
        f"{'scipy loop':>11} {'times':>6} {'difference':>11}"
    )
    for n, k, d, density in SIZES:
        n = n // 50 if quick else n
        rng = np.random.default_rng(0)
        components = rng.random((k, d))
        gram = components @ components.T
        weights = rng.random((n, k)) * (rng.random((n, k)) < density)
        noise = 0.1 * rng.standard_normal((n, k)) @ np.linalg.cholesky(gram).T
        cross = weights @ gram + noise  # noise of deviation 0.1 in the span of the components
        ours, found = seconds(nonnegative_least_squares, gram, cross)
        warm, _ = seconds(nonnegative_least_squares, gram, cross, start=found)
        simplex, _ = seconds(simplex_least_squares, gram, cross)
        sample = min(n, 300)
        rows = cross[:sample] @ np.linalg.solve(gram, components)
        loop, expected = seconds(
            lambda r, c: np.array([nnls(c, x)[0] for x in r]), rows, components.T
        )
        loop *= n / sample
        print(
            f"{n:8d} {k:4d} {np.mean(found > 0):8.2f} {ours:9.2f} s {warm:5.2f} s {simplex:6.2f} s"
            f" {loop:9.1f} s {loop / ours:6.1f} {np.abs(expected - found[:sample]).max():11.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
