"""Seconds until a Kullback-Leibler factorization comes within 1 % and 0.1 % of the best found.

PoissonNMF against scikit-learn's NMF(solver="mu", beta_loss="kullback-leibler"), from the same
random start, in one run. Ours has the divergences and times in its trace; scikit-learn goes on from
where it was, a tenth more iterations at a time, and only these are timed. Seconds are processor
seconds of this process: set OMP_NUM_THREADS=1 and NUMBA_NUM_THREADS=1 for one thread each.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from provenmf.data import as_blocks
from provenmf.methods.poisson.guarantee import excess
from provenmf.methods.poisson.solver import poisson_nmf


def planted_counts(n, d, k, seed):
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.3, 1.0, (n, k)) @ rng.gamma(0.3, 1.0, (k, d)) * 2
    return rng.poisson(means).astype(np.float64)


def start_of(X, k, seed):
    rng = np.random.default_rng(seed)
    scale = np.sqrt(X.mean() / k)
    n, d = X.shape
    return scale * np.abs(rng.standard_normal((n, k))), scale * np.abs(rng.standard_normal((k, d)))


def divergence(X, weights, components):
    return float(excess(X, weights + 1e-300, components + 1e-300).rows.sum())


def ours(X, start, limit):
    poisson_nmf(as_blocks(X[:20]), init=(start[0][:20], start[1]), max_iter=1)  # compile
    times, started = [], time.process_time()

    def note(row):
        times.append(time.process_time() - started)
        return times[-1] > limit

    solution = poisson_nmf(as_blocks(X), init=start, max_iter=5000, tol=1e-9, callback=note)
    return list(zip(times, solution.trace["divergence"], range(1, len(times) + 1)))


def theirs(X, start, limit):
    """Multiplicative updates have no memory: going on is the same as a longer run."""
    weights, components = (factor.copy() for factor in start)
    course, seconds, done = [], 0.0, 0
    while seconds < limit:
        more = max(5, done // 10)
        model = NMF(
            len(components),
            init="custom",
            solver="mu",
            beta_loss="kullback-leibler",
            max_iter=more,
            tol=0,
        )
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights = model.fit_transform(X, W=weights, H=components)
        seconds += time.process_time() - started
        components, done = model.components_, done + more
        course.append((seconds, divergence(X, weights, components), done))
    return course


def reached(course, target):
    hits = [(seconds, iterations) for seconds, value, iterations in course if value <= target]
    return f"{hits[0][0]:8.2f} s {hits[0][1]:5d}" if hits else "   not reached"


def matrices(data: Path | None, quick: bool):
    size = (200, 300, 8) if quick else (1000, 2000, 30)
    yield "planted, dense", planted_counts(*size, seed=1), size[2]
    sparse = (400, 800, 8) if quick else (3000, 5000, 20)
    thin = planted_counts(*sparse, seed=2) * (np.random.default_rng(3).random(sparse[:2]) < 0.05)
    yield "planted, 95 % zeros", sp.csr_array(thin), sparse[2]
    if data is not None:
        counts = np.load(data / "mutational_signatures" / "pcawg.npz")["X"].T.astype(np.float64)
        yield "PCAWG mutations", counts, 20
        text = sp.csr_array(sp.load_npz(data / "tdt2" / "counts.npz")).astype(np.float64)
        yield "TDT2 counts", text[np.flatnonzero(np.diff(text.indptr))], 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with real data sets")
    parser.add_argument("--quick", action="store_true", help="small matrices only")
    parser.add_argument("--only", default="", help="matrices whose name has this in it")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each run")
    options = parser.parse_args()
    limit = 5.0 if options.quick else options.seconds
    print(f"{'':22} {'':12} {'within 1 %':>16} {'within 0.1 %':>16}  end over best")
    for name, X, k in matrices(options.data, options.quick):
        if options.only not in name:
            continue
        start = start_of(X, k, 0)
        courses = {"PoissonNMF": ours(X, start, limit), "scikit-learn": theirs(X, start, limit)}
        best = min(value for course in courses.values() for _, value, _ in course)
        for solver, course in courses.items():
            end = min(value for _, value, _ in course) / best - 1
            within = [reached(course, best * (1 + share)) for share in (0.01, 0.001)]
            print(f"{name:22} {solver:12} {within[0]:>16} {within[1]:>16}  {end:.1e}", flush=True)


if __name__ == "__main__":
    main()
