"""Check evidence on unseen rows: false confirmations on null data, and power on drawn data.

    python -m benchmarks.recovery.evidence validity [--sets 250] [--first-seed 0] [--data DIR]
    python -m benchmarks.recovery.evidence power [--sets 20]
    python -m benchmarks.recovery.evidence errors [--sets 40]

*Validity.* Data of eight kinds with a known number of true components are factorized with more
components than that. Where columns are independent given the size of a row, one component, the
mean row, is all there is. A data set counts as false if more components are confirmed than exist.
Printed are the shares at the levels 5 % and .1 % with exact 95 % intervals (Clopper & Pearson).

*Power.* Drawn topics, Gaussian mixtures and graphs with k true components over the number of rows:
the share of the true components that are confirmed, beside cNMF's rule (components of random
restarts with a cosine of at least .8) and the number of components with the least held-out error.

*Errors.* The true error of each confirmed component over half the distance between the versions of
the two halves, which the verdict states: median, and the share below one and below two. Then how
often 95 % intervals of components hold the truth where the rows of a group have the same noise,
with rows and with groups resampled.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn import datasets

from provenmf import HALS, PoissonNMF, factorize, find_communities, with_error_bars
from provenmf.certificate.evidence import confirm_components
from provenmf.datasets.networks import mixed_membership_network
from provenmf.metrics.matching import match_components

Floats = NDArray[np.float64]
# Data, the number of components to fit, the number of true ones, and whether they are counts.
Null = tuple[Floats, int, int, bool]
D, TRUE = 20, 3
LEVELS = (0.05, 0.001)


def rows(seed: int) -> int:
    """Return 200 rows, 1000 for every fifth data set: false components need power to be seen."""
    return 1000 if seed % 5 == 4 else 200


def drawn(rng: np.random.Generator, n: int, d: int, H: Floats, counts: bool) -> Floats:
    """Rows from the components H: Poisson counts of 60 a row, or with Gaussian noise."""
    mean = rng.dirichlet(np.full(len(H), 0.5), n) @ H
    if counts:
        return rng.poisson(60 * mean).astype(float)
    return np.maximum(d * mean + 0.1 * rng.standard_normal((n, d)), 0)


def profiles(rng: np.random.Generator, k: int, d: int = D) -> Floats:
    return rng.dirichlet(np.full(d, 0.3), k)


def no_structure(rng: np.random.Generator, seed: int) -> Null:
    """Independent columns with means and noise of their own, with and without sizes of rows."""
    n = rows(seed)
    size = rng.gamma(4.0, 0.25, (n, 1)) if seed % 4 > 1 else np.ones((n, 1))
    mean = rng.gamma(2.0, 2.0, D)
    if seed % 2:
        return rng.poisson(size * mean).astype(float), 3, 1, True
    noise = rng.standard_normal((n, D)) * np.exp(rng.standard_normal(D))
    return np.maximum(size * (mean + noise), 0), 3, 1, False


def too_many(more: int) -> Callable[[np.random.Generator, int], Null]:
    def draw(rng: np.random.Generator, seed: int) -> Null:
        counts = bool(seed % 2)
        return drawn(rng, rows(seed), D, profiles(rng, TRUE), counts), TRUE + more, TRUE, counts

    return draw


def duplicated(rng: np.random.Generator, seed: int) -> Null:
    """Two of four components are the same."""
    H, counts = profiles(rng, TRUE), bool(seed % 2)
    return drawn(rng, rows(seed), D, np.vstack([H, H[:1]]), counts), TRUE + 1, TRUE, counts


def heavy_tails(rng: np.random.Generator, seed: int) -> Null:
    """Independent entries without variance: Cauchy, or lognormal."""
    scale, shape = rng.gamma(2.0, 1.0, D), (rows(seed), D)
    if seed % 2:
        return np.abs(rng.standard_cauchy(shape)) * scale, 3, 1, False
    return np.exp(1.5 * rng.standard_normal(shape)) * scale, 3, 1, False


def overdispersed(rng: np.random.Generator, seed: int) -> Null:
    """Negative binomial counts, independent; each column has its own dispersion in half of them."""
    size = np.exp(rng.standard_normal(D if seed % 2 else 1))
    mean = rng.gamma(1.0, 3.0, D) * rng.gamma(size, 1 / size, (rows(seed), D))
    return rng.poisson(mean).astype(float), 3, 1, True


def rare_noise(rng: np.random.Generator, seed: int) -> Null:
    """Two components, and large noise in 1 % of the rows, another one in each."""
    counts, n = bool(seed % 2), 2 * rows(seed)
    X = drawn(rng, n, D, profiles(rng, 2), counts)
    odd = rng.choice(n, n // 100, replace=False)
    noise = 5 * X.sum(axis=1).mean() * rng.dirichlet(np.full(D, 0.3), len(odd))
    X[odd] += rng.poisson(noise) if counts else noise
    return X, 3, 2, counts


def shuffled(folder: Path | None) -> Callable[[np.random.Generator, int], Null]:
    """Rows drawn from real data, with columns permuted one by one."""
    real = {name: getattr(datasets, f"load_{name}")().data for name in SHUFFLED}
    if folder is not None:
        real["signatures"] = np.load(folder / "mutational_signatures/scenario8.npz")["X"]

    def draw(rng: np.random.Generator, seed: int) -> Null:
        X = real[sorted(real)[seed % len(real)]].astype(float)
        X = X[rng.integers(0, len(X), rows(seed))]
        X = X[:, X.any(axis=0)]
        counts = bool((X == np.floor(X)).all())
        return rng.permuted(X, axis=0), 3 if X.shape[1] > 4 else 2, 1, counts

    return draw


SHUFFLED = ("iris", "wine", "digits", "breast_cancer")


def finder(X: Floats, k: int, counts: bool) -> Callable[[NDArray[np.intp]], Floats]:
    """Return a function that finds k components in some rows."""

    def find(rows: NDArray[np.intp]) -> Floats:
        method = PoissonNMF if counts else HALS
        fitted = method(k, random_state=0, certify=False, max_iter=100).fit(X[rows])
        return np.asarray(fitted.components_)

    return find


def judged(X: Floats, k: int, counts: bool, seed: int) -> Floats:
    """Return the error probability of each component; 1 where the halves do not show it."""

    find = finder(X, k, counts)
    found = confirm_components(X, find, find(np.arange(len(X))), counts=counts, random_state=seed)
    real = np.array([word == "confirmed" for word in found.judgements])
    return np.where(real, found.error_probabilities, 1.0)


def interval(hits: int, total: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share."""
    low = float(beta.ppf(0.025, hits, total - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, total - hits)) if hits < total else 1.0
    return low, high


def validity(sets: int, first: int, folder: Path | None) -> None:
    kinds: dict[str, Callable[[np.random.Generator, int], Null]] = {
        "no structure": no_structure,
        "k too large by 1": too_many(1),
        "k too large by 2": too_many(2),
        "k too large by 5": too_many(5),
        "duplicated component": duplicated,
        "heavy tails": heavy_tails,
        "overdispersed counts": overdispersed,
        "noise in 1 % of rows": rare_noise,
        "shuffled real data": shuffled(folder),
    }
    total = np.zeros(len(LEVELS), dtype=int)
    for name, draw in kinds.items():
        start, false = time.perf_counter(), np.zeros(len(LEVELS), dtype=int)
        for seed in range(first, first + sets):
            X, k, true, counts = draw(np.random.default_rng(seed), seed)
            wrong = np.sort(judged(X, k, counts, seed))
            false += [int((wrong <= level).sum() > true) for level in LEVELS]
        total += false
        shown(name, false, sets, time.perf_counter() - start)
    shown("all", total, sets * len(kinds), 0.0)


def shown(name: str, false: NDArray[np.intp], sets: int, seconds: float) -> None:
    shares = []
    for level, hits in zip(LEVELS, false):
        low, high = interval(int(hits), sets)
        shares.append(f"at {level:.1%}: {hits}/{sets} = {hits / sets:.2%} [{low:.2%}, {high:.2%}]")
    print(f"{name:24} {'   '.join(shares)}   {seconds:.0f} s", flush=True)


def mixtures(n: int, seed: int, counts: bool) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    H = profiles(rng, 5, 50)
    return drawn(rng, n, 50, H, counts), H


def restarts(X: Floats, k: int, counts: bool) -> float:
    """Return the share of the components that all of five random starts find (cosine .8)."""
    fits = [
        (PoissonNMF if counts else HALS)(
            k, init="random", random_state=seed, certify=False, max_iter=100
        )
        .fit(X)
        .components_
        for seed in range(5)
    ]
    unit = [H / np.linalg.norm(H, axis=1, keepdims=True) for H in fits]
    return float(np.mean(np.min([(unit[0] @ H.T).max(axis=1) for H in unit[1:]], axis=0) >= 0.8))


def held_out(X: Floats, counts: bool, most: int = 8) -> int:
    """Return the number of components with the least error in held-out rows' hidden columns."""
    half, hidden = len(X) // 2, X.shape[1] // 2
    errors = []
    for k in range(1, most + 1):
        H = (PoissonNMF if counts else HALS)(k, random_state=0, certify=False, max_iter=100)
        H = H.fit(X[:half]).components_
        errors.append(0.0)
        for row in X[half:]:
            weights = np.maximum(np.linalg.lstsq(H[:, hidden:].T, row[hidden:], rcond=None)[0], 0)
            errors[-1] += float(np.sum((row[:hidden] - weights @ H[:, :hidden]) ** 2))
    return int(np.argmin(errors)) + 1


def power(sets: int) -> None:
    print("kind, rows: confirmed of 5 at k = 5; at k = 7; stable of 7 (restarts); held-out k")
    for counts, name in ((True, "counts"), (False, "Gaussian")):
        for n in (40, 80, 150, 300, 600):
            found = []
            for seed in range(sets):
                X, _ = mixtures(n, seed, counts)
                right, many = (int((judged(X, k, counts, 0) <= 0.05).sum()) for k in (5, 7))
                found.append((right, many, 7 * restarts(X, 7, counts), held_out(X, counts)))
            mean = np.mean(found, axis=0)
            print(f"{name:9} n={n:4}: {mean[0]:.2f} {mean[1]:.2f} {mean[2]:.2f} {mean[3]:.2f}")
    for n in (100, 200, 400, 800):
        real = [graph(n, seed) for seed in range(max(sets // 4, 2))]
        print(f"graph     n={n:4}: {np.mean(real):.2f} of 3 communities")


def graph(n: int, seed: int) -> int:
    adjacency = sp.csr_array(mixed_membership_network(n, 3, random_state=seed).adjacency)
    certificate = find_communities(adjacency, 3, evidence=True).certificate
    assert certificate is not None and certificate.evidence is not None
    return len(certificate.evidence.confirmed)


def errors(sets: int) -> None:
    for counts, name in ((True, "counts"), (False, "Gaussian")):
        for n in (200, 600):
            ratios = []
            for seed in range(sets):
                X, truth = mixtures(n, seed, counts)
                find = finder(X, 5, counts)
                whole = find(np.arange(n))
                found = confirm_components(X, find, whole, counts=counts)
                unit = [H / np.linalg.norm(H, axis=1, keepdims=True) for H in (whole, truth)]
                off = np.degrees(np.arccos(np.minimum((unit[0] @ unit[1].T).max(axis=1), 1.0)))
                ratios += [off[j] / (found.errors[j] or np.inf) for j in found.confirmed]
            low, high = (np.mean(np.array(ratios) <= most) for most in (1, 2))
            print(
                f"{name:9} n={n}: true error over the stated one {np.median(ratios):.2f} (median), "
                f"at most 1: {low:.0%}, at most 2: {high:.0%}"
            )
    held: dict[str, list[float]] = {"rows": [], "groups": []}
    doubted = 0
    for seed in range(sets // 2):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(30), 10)
        truth = rng.gamma(1.0, 1.0, (3, 20))
        X = rng.dirichlet(np.full(3, 0.5), 30)[groups] @ truth
        X = np.maximum(X + 0.1 * rng.standard_normal((30, 20))[groups], 0)
        X = np.maximum(X + 0.02 * rng.standard_normal(X.shape), 0)
        fit = factorize(X, 3, method="hals", random_state=0, certify=False)
        for name, given in (("rows", None), ("groups", groups)):
            bars = with_error_bars(X, fit, 20, groups=given).error_bars
            assert bars is not None
            doubted += name == "rows" and "neighboring" in bars.assumes
            match = match_components(fit.components, truth)
            mine = match.found_rows
            scaled = truth[match.true_rows] / match.scales[:, None]
            ok = (scaled >= bars.lower[mine]) & (scaled <= bars.upper[mine])
            held[name].append(float(ok.mean()))
    print({name: f"{np.mean(some):.1%}" for name, some in held.items()}, f"doubted {doubted}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", choices=["validity", "power", "errors"])
    parser.add_argument("--sets", type=int, default=250)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=None)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.question == "validity":
            validity(options.sets, options.first_seed, options.data)
        elif options.question == "power":
            power(options.sets)
        else:
            errors(options.sets)


if __name__ == "__main__":
    main()
