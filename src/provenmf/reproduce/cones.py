"""Figure 1 and Table 1 of Liu and Tan (2017).

Setting of the paper: d = 1000, K = 50 cones of size angle 0.3, axes 4·0.3 + 0.01 apart, rates
λ = 1/(1 … K), n from 10² to 10⁴, ten runs. The quick version has d = 200 and K = 10.

The paper's "Mult" and "Als" are MATLAB's `nnmf`. Here Mult is scikit-learn's multiplicative update
from a random start and Als plain alternating least squares with negative entries set to zero.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from provenmf.data import as_blocks
from provenmf.datasets.cones import paper_cones
from provenmf.datasets.sample import Sample
from provenmf.methods.alternating.estimator import HALS
from provenmf.methods.cones.estimator import ConeNMF
from provenmf.methods.cones.guarantee import theorem_5_bound, theorem_5_limit
from provenmf.methods.cones.solver import cones, nearest_component_weights
from provenmf.reproduce.experiment import Experiment, Figure, Outcome, Row, Series, Settings

ALPHA = 0.3
Factors = tuple[NDArray[np.floating], NDArray[np.floating]]

# Seconds in the paper's Table 1 (MATLAB R2014a, 2.5 GHz Core i7), by n.
PAPER_SECONDS = {
    100: {"Alg2": 0.447, "Als": 0.195, "Mult": 0.615, "Alg2+Als": 0.516},
    1_000: {"Alg2": 1.534, "Als": 0.241, "Mult": 1.930, "Alg2+Als": 2.597},
    10_000: {"Alg2": 13.867, "Als": 4.193, "Mult": 25.341, "Alg2+Als": 28.745},
}


def algorithm_2(X: NDArray[np.floating], k: int) -> Factors:
    """Our Algorithm 2: components and weights, no certificate."""
    blocks = as_blocks(X)
    components = cones(blocks, k).components
    return nearest_component_weights(blocks, components), components


def literal_algorithm_2(X: NDArray[np.floating], k: int) -> Factors:
    """Algorithms 1 and 2 as printed: a pass for every centroid, full decompositions."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    chosen = [int(np.argmax(np.linalg.norm(X, axis=1)))]
    similarity = unit @ unit[chosen[0]]
    while len(chosen) < k:
        chosen.append(int(np.argmin(similarity)))
        similarity = np.maximum(similarity, unit @ unit[chosen[-1]])
    labels = (unit @ unit[chosen].T).argmax(axis=1)
    weights, components = np.zeros((X.shape[0], k)), np.zeros((k, X.shape[1]))
    for j in range(k):
        u, s, v = np.linalg.svd(X[labels == j], full_matrices=True)
        components[j] = s[0] * np.abs(v[0])
        weights[labels == j, j] = np.abs(u[:, 0])
    return weights, components


def multiplicative_updates(X: NDArray[np.floating], k: int) -> Factors:
    """Mult: scikit-learn's multiplicative update from a random start."""
    model = NMF(k, solver="mu", init="random", random_state=0, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 100 iterations, as nnmf makes
        return model.fit_transform(X), model.components_


def alternating_least_squares(
    X: NDArray[np.floating], k: int, components: NDArray[np.floating] | None = None
) -> Factors:
    """Als: both factors in turn by least squares, negative entries set to zero.

    Ends when the error changes by less than 1e-4 of itself or after 100 rounds, as `nnmf` does.
    """
    if components is None:
        components = np.random.default_rng(0).random((k, X.shape[1]))
    error, previous = math.inf, math.inf
    for _ in range(100):
        weights = np.maximum(least_squares(components.T, X.T).T, 0)
        components = np.maximum(least_squares(weights, X), 0)
        previous, error = error, relative_error(X, (weights, components))
        if abs(previous - error) <= 1e-4 * error:
            break
    return weights, components


def least_squares(A: NDArray[np.floating], B: NDArray[np.floating]) -> NDArray[np.floating]:
    """Shortest minimiser of ‖A M − B‖ from the normal equations."""
    return np.linalg.pinv(A.T @ A, hermitian=True) @ (A.T @ B)


def algorithm_2_and_als(X: NDArray[np.floating], k: int) -> Factors:
    """Alg2+Als: alternating least squares started from Algorithm 2."""
    return alternating_least_squares(X, k, algorithm_2(X, k)[1])


def algorithm_2_and_hals(X: NDArray[np.floating], k: int) -> Factors:
    """Our continuation: hierarchical alternating least squares from Algorithm 2."""
    model = HALS(k, init=algorithm_2(X, k), certify=False)
    return model.fit_transform(X), model.components_


ALGORITHMS: dict[str, Callable[[NDArray[np.floating], int], Factors]] = {
    "Alg2": algorithm_2,
    "Alg2 literal": literal_algorithm_2,
    "Als": alternating_least_squares,
    "Mult": multiplicative_updates,
    "Alg2+Als": algorithm_2_and_als,
    "Alg2+HALS": algorithm_2_and_hals,
}


def relative_error(X: NDArray[np.floating], factors: Factors) -> float:
    """‖X − weights @ components‖ / ‖X‖."""
    return float(np.linalg.norm(X - factors[0] @ factors[1]) / np.linalg.norm(X))


def draw(n_rows: int, settings: Settings, run: int) -> Sample:
    """One data set of Section 4, or a smaller one of its kind."""
    seed = settings.seed + 1000 * run
    if settings.quick:
        return paper_cones(n_rows, n_columns=200, n_components=10, random_state=seed)
    return paper_cones(n_rows, random_state=seed)


def figure_1(settings: Settings) -> Outcome:
    """Errors against bounds (left) and against other algorithms (right)."""
    sizes = [100, 300, 1000] if settings.quick else [100, 215, 464, 1000, 2154, 4642, 10_000]
    runs = 3 if settings.quick else 10
    rows, broken = [], 0
    for position, n in enumerate(sizes):
        settings.progress(position / len(sizes), f"n = {n}")
        found = [errors_and_bounds(draw(n, settings, run), n) for run in range(runs)]
        broken += sum(f["Alg2"] > min(f["Theorem 4"], f["Theorem 5, 99 %"]) for f in found)
        broken += sum(f["Alg2"] > f["measured cones"] for f in found)
        first = draw(n, settings, 0)
        others = {
            name: relative_error(first.data, ALGORITHMS[name](first.data, first.n_components))
            for name in ("Als", "Mult", "Alg2+Als", "Alg2+HALS")
        }
        means = {name: float(np.mean([f[name] for f in found])) for name in found[0]}
        rows.append({"n": n, **means, **others})

    def curves(names: list[str]) -> list[Series]:
        return [Series(name, sizes, [row[name] for row in rows]) for name in names]

    bounds = ["Alg2", "measured cones", "Theorem 5", "Theorem 5, 99 %", "Theorem 4"]
    algorithms = ["Alg2", "Als", "Mult", "Alg2+Als", "Alg2+HALS"]
    return Outcome(
        tables={f"Relative errors, Alg2 and bounds: means of {runs} runs; others: first run": rows},
        figures=[
            Figure("Error and bounds", "rows n", "relative error", curves(bounds), log_x=True),
            Figure("Algorithms", "rows n", "relative error", curves(algorithms), log_x=True),
        ],
        verdict=f"The error was above its bound in {broken} of {2 * runs * len(sizes)} "
        f"comparisons. At n = {sizes[-1]} the error is {rows[-1]['Alg2+Als']:.4f} for Alg2+Als "
        f"and {rows[-1]['Mult']:.4f} for Mult.",
        holds=broken == 0 and rows[-1]["Alg2+Als"] < rows[-1]["Mult"],
    )


def errors_and_bounds(sample: Sample, n: int) -> dict[str, float]:
    """Error of Algorithm 2, the two theorems, and the bound of the measured cones.

    The last comes from as many cones as show in the data: with n = 100 some of them are empty.
    """
    certificate = ConeNMF().fit(sample.data).certificate_
    rates = sample.extras["rates"]
    angles = sample.extras["size_angles"]
    return {
        "Alg2": relative_error(sample.data, algorithm_2(sample.data, sample.n_components)),
        "measured cones": certificate.bounds.get("relative_error", math.nan),
        "Theorem 5": theorem_5_limit(angles, rates),
        "Theorem 5, 99 %": theorem_5_bound(angles, rates, n, probability=0.99),
        "Theorem 4": math.sin(ALPHA),
    }


def table_1(settings: Settings) -> Outcome:
    """Seconds of each algorithm, with the paper's beside them."""
    sizes = [100, 1000] if settings.quick else [100, 1_000, 10_000]
    warm = draw(50, settings, 0)
    for algorithm in ALGORITHMS.values():
        algorithm(warm.data, 5)  # compiled kernels and thread pools are there before we measure
    rows = []
    for position, n in enumerate(sizes):
        sample = draw(n, settings, 0)
        row: Row = {"n": n}
        for name, algorithm in ALGORITHMS.items():
            settings.progress(position / len(sizes), f"n = {n}, {name}")
            repeats = 3 if name == "Alg2" else 1
            seconds = [seconds_of(algorithm, sample) for _ in range(repeats)]
            row[name] = float(np.median(seconds))
            if not settings.quick and name in PAPER_SECONDS[n]:
                row[f"{name}, paper"] = PAPER_SECONDS[n][name]
        row["literal / ours"] = row["Alg2 literal"] / row["Alg2"]
        rows.append(row)
    faster = rows[-1]["literal / ours"]
    return Outcome(
        tables={"Seconds": rows},
        verdict=f"At n = {sizes[-1]} ours takes 1/{faster:.1f} of the literal Algorithm 2's time.",
        holds=all(row["Alg2"] < row["Mult"] for row in rows),
    )


def seconds_of(algorithm: Callable[[NDArray[np.floating], int], Factors], sample: Sample) -> float:
    """Time of one factorization."""
    start = time.perf_counter()
    algorithm(sample.data, sample.n_components)
    return time.perf_counter() - start


EXPERIMENTS = [
    Experiment(
        "cones-fig1",
        "Liu17",
        "Relative errors and bounds of cone NMF",
        "Errors lie below the bounds of Theorems 4 and 5; started from Algorithm 2, alternating "
        "least squares has a smaller error than multiplicative updates.",
        figure_1,
    ),
    Experiment(
        "cones-table1",
        "Liu17",
        "Running times of cone NMF",
        "Algorithm 2 takes less time than multiplicative updates.",
        table_1,
    ),
]
