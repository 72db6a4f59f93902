"""Start quality: iterations and final error of scikit-learn's NMF (cd) from different starts.

"iterations" is what scikit-learn needs with its tolerance (1e-4); "first" the relative error after
one iteration; "start" the seconds spent on the start, "fit" on the iterations.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from matrices import planted, real
from polish import relative_error
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from provenmf.data import as_blocks
from provenmf.methods.alternating.starts import start_factors

STARTS = ("cones", "spa", "nndsvd", "nndsvda", "nndsvdar", "random")


def compare(title, X, k, most):
    print(f"\n{title}: {X.shape[0]} x {X.shape[1]}, rank {k}")
    print(f"{'start':10}{'start s':>9}{'first':>10}{'iterations':>12}{'final':>10}{'fit s':>8}")
    for init in STARTS:
        started = time.perf_counter()
        weights, components = start_factors(as_blocks(X), k, init, np.random.default_rng(0))
        start_seconds = time.perf_counter() - started
        one = NMF(k, init="custom", max_iter=1)
        first = one.fit_transform(X, W=weights.copy(), H=components.copy())
        model = NMF(k, init="custom", max_iter=most)
        started = time.perf_counter()
        final = model.fit_transform(X, W=weights, H=components)
        fit_seconds = time.perf_counter() - started
        print(
            f"{init:10}{start_seconds:9.2f}{relative_error(X, first, one.components_):10.5f}"
            f"{model.n_iter_:12d}{relative_error(X, final, model.components_):10.5f}"
            f"{fit_seconds:8.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most 20 iterations")
    parser.add_argument("--data", type=Path, help="directory of real data; else one planted matrix")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations is the result
    start_factors(as_blocks(planted(50, 20, 3)), 3, "cones", np.random.default_rng(0))  # compile
    matrices = real(options.data) if options.data else {"planted": (planted(1000, 200, 10), 10)}
    for title, (X, k) in matrices.items():
        compare(title, X, k, 20 if options.quick else 500)


if __name__ == "__main__":
    main()
