"""Figure 1 and Table 1 of Liu and Tan (2017, Liu17).

Setting of the paper: d = 1000, K = 50 cones of size angle 0.3, axes 4·0.3 + 0.01 apart, rates
λ = 1/(1 … K), n from 10² to 10⁴, ten runs. The quick size has d = 200 and K = 10.

"Mult" and "Als" of the paper are MATLAB's `nnmf`. Here Mult is scikit-learn's multiplicative update
from a random start and Als plain alternating least squares with negative entries set to zero. The
paper's Alg2 is `literal_algorithm_2`, with full decompositions; ours gives the same factors.
Seconds are those of the processor.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from provenmf.data import as_blocks
from provenmf.datasets.cones import paper_cones
from provenmf.datasets.sample import Sample
from provenmf.io.arrays import read_npz
from provenmf.io.files import existing
from provenmf.methods.alternating.estimator import HALS
from provenmf.methods.cones.estimator import ConeNMF
from provenmf.methods.cones.guarantee import theorem_5_bound, theorem_5_limit
from provenmf.methods.cones.solver import cones, nearest_component_encoder
from provenmf.reproduce.claims import Row, Settings, Tables, contents

Factors = tuple[NDArray[np.floating], NDArray[np.floating]]
Algorithm = Callable[[NDArray[np.floating], int], Factors]

ALPHA = 0.3
ERRORS, UNKNOWN, REAL = "Relative errors, means of all runs", "Unknown K", "Real data"


def our_algorithm_2(X: NDArray[np.floating], k: int) -> Factors:
    """Run Algorithm 2 with our solver, without a certificate."""
    blocks = as_blocks(X)
    components = cones(blocks, k).components
    return blocks.map_rows(nearest_component_encoder(components, blocks.dtype)), components


def literal_algorithm_2(X: NDArray[np.floating], k: int) -> Factors:
    """Run Algorithms 1 and 2 as printed: one pass per centroid, full decompositions."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    chosen = [int(np.argmax(np.linalg.norm(X, axis=1)))]
    similarity = unit @ unit[chosen[0]]
    while len(chosen) < k:
        chosen.append(int(np.argmin(similarity)))
        similarity = np.maximum(similarity, unit @ unit[chosen[-1]])
    labels = (unit @ unit[chosen].T).argmax(axis=1)
    weights, components = np.zeros((X.shape[0], k)), np.zeros((k, X.shape[1]))
    for j in range(k):
        if not (labels == j).any():
            continue  # a row chosen twice: fewer cones than k have a row
        u, s, v = np.linalg.svd(X[labels == j], full_matrices=True)
        components[j] = s[0] * np.abs(v[0])
        weights[labels == j, j] = np.abs(u[:, 0])
    return weights, components


def multiplicative_updates(X: NDArray[np.floating], k: int) -> Factors:
    """Run Mult: scikit-learn's multiplicative updates, random start, 100 rounds as `nnmf`."""
    from sklearn.decomposition import NMF

    model = NMF(k, solver="mu", init="random", random_state=0, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that 100 rounds are few
        return model.fit_transform(X), model.components_


def alternating_least_squares(
    X: NDArray[np.floating], k: int, components: NDArray[np.floating] | None = None
) -> Factors:
    """Run Als: alternating least squares with negative entries set to zero.

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
    """Compute the minimum-norm minimizer of ‖A M − B‖ from the normal equations."""
    return np.linalg.pinv(A.T @ A, hermitian=True) @ (A.T @ B)


def algorithm_2_and_hals(X: NDArray[np.floating], k: int) -> Factors:
    """Run our extension: hierarchical alternating least squares started from Algorithm 2."""
    model = HALS(k, init=our_algorithm_2(X, k), certify=False)
    return model.fit_transform(X), model.components_


ALGORITHMS: dict[str, Algorithm] = {
    "Alg2": literal_algorithm_2,
    "Als": alternating_least_squares,
    "Mult": multiplicative_updates,
    "Alg2+Als": lambda X, k: alternating_least_squares(X, k, our_algorithm_2(X, k)[1]),
    "our Alg2": our_algorithm_2,
    "our Alg2+HALS": algorithm_2_and_hals,
}


def relative_error(X: NDArray[np.floating], factors: Factors) -> float:
    """Return ‖X − weights @ components‖ / ‖X‖."""
    return float(np.linalg.norm(X - factors[0] @ factors[1]) / np.linalg.norm(X))


def draw(n_rows: int, settings: Settings, run: int) -> Sample:
    """Draw a data set of Section 4; a smaller one for quick runs."""
    seed = settings.seed + 1000 * run
    if settings.quick:
        return paper_cones(n_rows, n_columns=200, n_components=10, random_state=seed)
    return paper_cones(n_rows, random_state=seed)


def figure_1(settings: Settings) -> Tables:
    """Reproduce Figure 1: mean errors against bounds (left) and other algorithms (right)."""
    sizes = [100, 300, 1000] if settings.quick else [100, 215, 464, 1000, 2154, 4642, 10_000]
    runs = 3 if settings.quick else 10
    # Ours has the same factors as the literal algorithm and is faster.
    compared = {"Alg2": "our Alg2"} | {n: n for n in ("Als", "Mult", "Alg2+Als", "our Alg2+HALS")}
    rows: list[Row] = []
    for n in settings.each(sizes):
        found: list[dict[str, float]] = []
        for run in range(runs):
            sample = draw(n, settings, run)
            errors = {
                name: relative_error(
                    sample.data, ALGORITHMS[algorithm](sample.data, sample.n_components)
                )
                for name, algorithm in compared.items()
            }
            found.append(bounds(sample, n) | errors)
        means = {name: float(np.mean([run[name] for run in found])) for name in found[0]}
        rows.append({"n": n, "runs": runs, **means, "largest Als": max(r["Als"] for r in found)})
        rows[-1]["above a bound"] = sum(
            not r["Alg2"] <= min(r["Theorem 4"], r["Theorem 5, 99 %"]) for r in found
        )
    return {ERRORS: rows}


def bounds(sample: Sample, n: int) -> dict[str, float]:
    """Return the bounds of Theorems 4 and 5 for the true cones of the sample."""
    rates, angles = sample.extras["rates"], sample.extras["size_angles"]
    return {
        "Theorem 5": theorem_5_limit(angles, rates),
        "Theorem 5, 99 %": theorem_5_bound(angles, rates, n, probability=0.99),
        "Theorem 4": math.sin(ALPHA),
    }


def table_1(settings: Settings) -> Tables:
    """Reproduce Table 1: processor seconds of each algorithm, next to the paper's."""
    warm = draw(50, settings, 0)
    for algorithm in ALGORITHMS.values():
        algorithm(warm.data, 5)  # compile the kernels before measuring
    rows: list[Row] = []
    for n in settings.each([100, 1000] if settings.quick else [100, 1_000, 10_000]):
        sample = draw(n, settings, 0)
        row: Row = {"n": n}
        for name, algorithm in ALGORITHMS.items():
            seconds = []
            for _ in range(2):
                start = time.process_time()
                algorithm(sample.data, sample.n_components)
                seconds.append(time.process_time() - start)
            row[name] = min(seconds)
        if not settings.quick:
            printed = contents("published.toml")["cones_seconds"][str(n)]
            row |= {f"{name}, paper's print": value for name, value in printed.items()}
        rows.append(row)
    return {"Seconds": rows}


def theorem_5(settings: Settings) -> Tables:
    """Test Theorem 5 beyond the paper's experiments: for unknown K, and on real data.

    K is where the farthest-first angles drop most. The real data are excitation and emission
    spectra of three pure amino acids, rows of at least a tenth of the largest length: their cones
    are measured, the rates fitted.
    """
    rows: list[Row] = []
    for run in settings.each(range(3 if settings.quick else 10)):
        sample = draw(1000, settings, run)
        k = len(cones(as_blocks(sample.data)).components)
        error = relative_error(sample.data, our_algorithm_2(sample.data, k))
        rows.append({"run": run, "K": sample.n_components, "K found": k, "error": error})
        rows[-1]["bound"] = bounds(sample, 1000)["Theorem 5, 99 %"]
    real = settings.data and real_rows(settings.data / "amino_acids" / "amino_acids.npz")
    return {UNKNOWN: rows, REAL: real or []}


def real_rows(path: Path) -> list[Row]:
    """Compare the error of cone NMF with K = 3 to Theorem 5's bound for the measured cones."""
    pure = np.maximum(read_npz(existing(path))["X"][:3], 0.0)
    rows: list[Row] = []
    for name, X in (("excitation", np.concatenate(pure)), ("emission", np.hstack(pure).T)):
        lengths = np.linalg.norm(X, axis=1)
        X = X[lengths >= 0.1 * lengths.max()]
        model = ConeNMF(3).fit(X)
        sizes = np.bincount(model.labels_)
        energy = np.bincount(model.labels_, np.linalg.norm(X, axis=1) ** 2)
        angles = np.array(model.certificate_.measures["size_angles"])
        found = len(cones(as_blocks(X)).components)
        error = relative_error(X, (model.transform(X), model.components_))
        bound = theorem_5_bound(angles, sizes / energy, len(X))
        row: Row = {"spectra": name, "n": len(X), "K": 3, "K found": found}
        rows.append({**row, "error": error, "bound": bound})
    return rows
