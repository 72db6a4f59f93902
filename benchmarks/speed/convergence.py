"""Seconds until a factorization comes within 1 % and 0.1 % of the best error or divergence found.

    python -m benchmarks.speed.convergence [--quick] [--data DIR] [--only NAME] [--seconds 20]

Least squares: HALS and ANLS from three starts beside scikit-learn's coordinate descent ("cd") and
multiplicative updates ("mu"). Kullback-Leibler divergence: PoissonNMF beside "mu", from the same
random factors. Ours has errors and times in its trace; scikit-learn, which keeps nothing between
iterations, goes on from where it was, a tenth more at a time, and only these are timed. The start
counts. Seconds are processor seconds of this process: set OMP_NUM_THREADS=1 and
NUMBA_NUM_THREADS=1 for one thread each.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from provenmf import ANLS, HALS
from provenmf.applications.topics.corpus import tf_idf
from provenmf.data import as_blocks
from provenmf.linalg.norms import squared_frobenius_norm, squared_residual_rows
from provenmf.methods.alternating.starts import start_factors
from provenmf.methods.poisson.guarantee import excess
from provenmf.methods.poisson.solver import poisson_nmf

# Seconds, error and iterations so far, in order.
Course = list[tuple[float, float, int]]
Contender = Callable[[object, int, float], Course]
STARTS = ("cones", "nndsvda", "random")


def planted(n, d, k):
    """Draw uniform factors with half of their entries zero; add noise of 5 %, clip at zero."""
    rng = np.random.default_rng(0)
    weights = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
    components = rng.random((k, d)) * (rng.random((k, d)) < 0.5)
    signal = weights @ components
    scale = 0.0475 * np.sqrt(np.mean(signal**2))
    return np.maximum(signal + scale * rng.standard_normal((n, d)), 0.0)


def planted_counts(n, d, k, seed):
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.3, 1.0, (n, k)) @ rng.gamma(0.3, 1.0, (k, d)) * 2
    return rng.poisson(means).astype(np.float64)


def word_counts(data):
    """Return TDT2 without empty documents."""
    counts = sp.csr_array(sp.load_npz(data / "tdt2" / "counts.npz")).astype(np.float64)
    return counts[np.flatnonzero(np.diff(counts.indptr))]


def random_factors(X, k):
    rng = np.random.default_rng(0)
    scale, (n, d) = np.sqrt(X.mean() / k), X.shape
    return scale * np.abs(rng.standard_normal((n, k))), scale * np.abs(rng.standard_normal((k, d)))


def relative_error(X, weights, components):
    squared = squared_residual_rows(X, weights, components).sum()
    return float(np.sqrt(squared / squared_frobenius_norm(X)))


def divergence(X, weights, components):
    return float(excess(X, weights + 1e-300, components + 1e-300).rows.sum())


def traced(fit, limit) -> Course:
    """The course of a fit of ours: `fit` takes a callback and returns the errors."""
    times, started = [], time.process_time()

    def note(row):
        times.append(time.process_time() - started)
        return times[-1] > limit

    errors = fit(note)
    return list(zip(times, errors, range(1, len(times) + 1)))


def alternating(solver, init, X, k, limit) -> Course:
    options = {"init": init, "max_iter": 1000, "tol": 1e-7, "random_state": 0, "certify": False}
    solver(k, **options | {"max_iter": 2}).fit(X[:200])  # compile
    return traced(lambda c: solver(k, **options, callback=c).fit(X).trace_["relative_error"], limit)


def poisson(X, k, limit) -> Course:
    weights, components = random_factors(X, k)
    fit = partial(poisson_nmf, tol=1e-9)
    fit(as_blocks(X[:20]), init=(weights[:20], components), max_iter=1)  # compile
    start = (weights, components)
    return traced(
        lambda c: fit(as_blocks(X), init=start, max_iter=5000, callback=c).trace["divergence"],
        limit,
    )


def scikit_learn(solver, init, X, k, limit) -> Course:
    """Minimize the divergence from `random_factors` if `init` is "counts", else least squares."""
    started = time.process_time()
    if init == "counts":
        weights, components = random_factors(X, k)
    elif init == "cones":
        weights, components = start_factors(as_blocks(X), k, "cones", np.random.default_rng(0))
    else:
        first = NMF(k, init=init, solver=solver, tol=0, max_iter=1, random_state=0)
        weights, components = first.fit_transform(X), first.components_
    seconds = time.process_time() - started
    loss = "kullback-leibler" if init == "counts" else "frobenius"
    error = divergence if init == "counts" else relative_error
    done = 0 if init in ("counts", "cones") else 1
    course = [(seconds, error(X, weights, components), done)]
    while seconds < limit:
        more = max(2, done // 10)
        model = NMF(k, init="custom", solver=solver, beta_loss=loss, max_iter=more, tol=0)
        started = time.process_time()
        weights = model.fit_transform(X, W=weights, H=components)
        seconds += time.process_time() - started
        components, done = model.components_, done + more
        course.append((seconds, error(X, weights, components), done))
    return course


LEAST_SQUARES: dict[str, Contender] = {
    **{f"{m.__name__} {i}": partial(alternating, m, i) for m in (HALS, ANLS) for i in STARTS},
    **{f"scikit-learn cd {i}": partial(scikit_learn, "cd", i) for i in STARTS},
    **{f"scikit-learn mu {i}": partial(scikit_learn, "mu", i) for i in ("nndsvda", "random")},
}
COUNTS: dict[str, Contender] = {
    "PoissonNMF": poisson,
    "scikit-learn mu": partial(scikit_learn, "mu", "counts"),
}


def matrices(data: Path | None, quick: bool):
    """Name, matrix, number of components and contenders."""
    size = (1000, 200, 10) if quick else (5000, 1000, 50)
    yield "planted", planted(*size), size[2], LEAST_SQUARES
    size = (200, 300, 8) if quick else (1000, 2000, 30)
    yield "planted counts", planted_counts(*size, seed=1), size[2], COUNTS
    size = (400, 800, 8) if quick else (3000, 5000, 20)
    thin = planted_counts(*size, seed=2) * (np.random.default_rng(3).random(size[:2]) < 0.05)
    yield "planted counts, 95 % zeros", sp.csr_array(thin), size[2], COUNTS
    if data is not None:
        words = word_counts(data)
        yield "TDT2, tf-idf", sp.csr_array(normalize(tf_idf(words))), 20, LEAST_SQUARES
        mutations = np.load(data / "mutational_signatures" / "pcawg.npz")["X"].T.astype(np.float64)
        yield "PCAWG mutations", mutations, 20, COUNTS
        yield "TDT2, counts", words, 20, COUNTS


def reached(course: Course, target: float) -> str:
    hits = [(seconds, iterations) for seconds, value, iterations in course if value <= target]
    return f"{hits[0][0]:.2f} ({hits[0][1]})" if hits else "not reached"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small matrices, a second each")
    parser.add_argument("--data", type=Path, help="folder with real data sets")
    parser.add_argument("--only", default="", help="matrices whose name has this in it")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit for each run")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # tol=0: they are meant to run on
    limit = 1.0 if options.quick else options.seconds
    for name, X, k, contenders in matrices(options.data, options.quick):
        if options.only not in name:
            continue
        print(f"\n{name}: {X.shape[0]} x {X.shape[1]}, {k} components, {limit:g} s each")
        print(f"{'seconds (iterations) to within':32}{'1 %':>14}{'0.1 %':>16}{'end over best':>16}")
        courses = {label: run(X, k, limit) for label, run in contenders.items()}
        best = min(value for course in courses.values() for _, value, _ in course)
        for label, course in courses.items():
            within = [reached(course, best * factor) for factor in (1.01, 1.001)]
            end = min(value for _, value, _ in course) / best - 1
            print(f"{label:32}{within[0]:>14}{within[1]:>16}{end:16.1e}", flush=True)


if __name__ == "__main__":
    main()
