"""Check evidence on unseen rows: false confirmations on null data, and power on drawn data.

    python -m benchmarks.recovery.evidence validity [--sets 250] [--first-seed 0] [--data DIR]
        [--only NAME]
    python -m benchmarks.recovery.evidence too-many [--sets 60] [--first-seed 0]
    python -m benchmarks.recovery.evidence power [--sets 20]
    python -m benchmarks.recovery.evidence errors [--sets 40] [--first-seed 0]

*Validity.* Data with a known number of true components (`null_data.py`) are factorized with more
components than that. A data set counts as false if more components are confirmed than exist.
*Too many* does the same with topics, materials and communities of which too many are asked for.
Printed are the shares at the levels 5 % and .1 % with exact 95 % intervals (Clopper & Pearson).

*Power.* Drawn counts, mixtures, topics, cubes and graphs with k true components, over their size:
how many of the k true components are confirmed, and of k + 2, beside cNMF's rule (components of
random restarts with a cosine of at least .8), the number with the least held-out error, and
parallel analysis.

*Errors.* The true error of each confirmed component over the one that the verdict states, half the
distance between the versions of the two halves: median, 90 % quantile, and how often the truth is
within a factor of two and at most twice as large. HALS on clipped noise is biased, and both halves
are biased alike: there the error is also measured from what HALS finds in twenty times the rows.
Then how often 95 % intervals of components hold the truth where the rows of a group have the same
noise, with rows and with groups resampled.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.recovery.null_data import Floats, drawn, kinds, profiles
from numpy.typing import NDArray
from scipy.stats import beta

from provenmf import (
    HALS,
    PoissonNMF,
    confirm,
    factorize,
    find_communities,
    find_signatures,
    find_topics,
    unmix,
    with_error_bars,
)
from provenmf.certificate.evidence import confirm_components
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.datasets.networks import mixed_membership_network
from provenmf.metrics.matching import match_components
from provenmf.results import Answer
from provenmf.results.estimates import Evidence

LEVELS = (0.05, 0.001)


def finder(X: Floats, k: int, counts: bool) -> Callable[[NDArray[np.intp]], Floats]:
    """Return a function that finds k components in some rows."""

    def find(rows: NDArray[np.intp]) -> Floats:
        method = PoissonNMF if counts else HALS
        fitted = method(k, random_state=0, certify=False, max_iter=100).fit(X[rows])
        return np.asarray(fitted.components_)

    return find


def judged(X: Floats, k: int, counts: bool, seed: int) -> Evidence:
    """Return the evidence for k components, as a user gets it."""
    method = PoissonNMF if counts else HALS
    fit = method(k, random_state=0, certify=False, max_iter=100).fit(X).factorization_
    evidence = confirm(X, fit, random_state=seed).certificate.evidence
    assert evidence is not None
    return evidence


def interval(hits: int, total: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share."""
    low = float(beta.ppf(0.025, hits, total - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, total - hits)) if hits < total else 1.0
    return low, high


def validity(sets: int, first: int, folder: Path | None, only: str) -> None:
    total, tried = np.zeros(4, dtype=int), 0
    for name, draw in kinds(folder).items():
        if only and only not in name:
            continue
        tried += 1
        start, false = time.perf_counter(), np.zeros(4, dtype=int)
        for seed in range(first, first + sets):
            X, k, true, counts = draw(np.random.default_rng(seed), seed)
            found = judged(X, k, counts, seed)
            wrong = np.array([found.error_probabilities[j] for j in found.confirmed])
            hits = [int((wrong <= level).sum() > true) for level in LEVELS]
            false += [*hits, hits[0] and not found.doubt, bool(found.doubt)]
        total += false
        shown(name, false, sets, time.perf_counter() - start)
    shown("all", total, sets * tried, 0.0)


def shown(name: str, false: NDArray[np.intp], sets: int, seconds: float) -> None:
    shares = []
    for level, hits in zip((*(f"at {level:.1%}" for level in LEVELS), "not doubted"), false):
        low, high = interval(int(hits), sets)
        shares.append(f"{level}: {hits}/{sets} [{low:.2%}, {high:.2%}]")
    print(f"{name:24} {'   '.join(shares)}   doubted {false[3]}   {seconds:.0f} s", flush=True)


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


def held_out(X: Floats, counts: bool, most: int) -> int:
    """Return the number of components with the least error in held-out rows' hidden columns."""
    half, hidden = len(X) // 2, X.shape[1] // 2
    errors = []
    for k in range(1, most + 1):
        H = (PoissonNMF if counts else HALS)(k, random_state=0, certify=False, max_iter=100)
        H = H.fit(X[:half]).components_
        weights = np.linalg.lstsq(H[:, hidden:].T, X[half:, hidden:].T, rcond=None)[0]
        left = X[half:, :hidden] - np.maximum(weights, 0).T @ H[:, :hidden]
        errors.append(float(np.sum(left**2)))
    return int(np.argmin(errors)) + 1


def parallel_analysis(X: Floats) -> int:
    """Return one more than the principal components beyond those of shuffled columns."""
    rng, centered = np.random.default_rng(0), X - X.mean(axis=0)
    chance = [np.linalg.svd(rng.permuted(centered, axis=0), compute_uv=False) for _ in range(5)]
    above = np.linalg.svd(centered, compute_uv=False) > np.max(chance, axis=0)
    return 1 + int(np.argmin(np.append(above, False)))


# Data, whether they are counts, and how many components are confirmed of a number that is asked.
Drawn = tuple[Floats, bool, Callable[[int], int]]


def matrix(n: int, seed: int, counts: bool) -> Drawn:
    X, _ = mixtures(n, seed, counts)
    return X, counts, lambda k: len(judged(X, k, counts, 0).confirmed)


def corpus(n: int, seed: int) -> Drawn:
    X = topic_corpus(n, 400, 5, random_state=seed).counts
    return X.toarray(), True, lambda k: len(evidence_of(find_topics(X, k)).confirmed)


def cube(side: int, seed: int) -> Drawn:
    pixels = mixed_cube(side, side, 60, 4, random_state=seed).cube
    flat = np.maximum(pixels.reshape(-1, 60), 0)
    return flat, False, lambda k: len(evidence_of(unmix(pixels, k)).confirmed)


def graph(n: int, seed: int) -> Drawn:
    X = sp.csr_array(
        mixed_membership_network(n, 3, mean_degree=0.1 * n, random_state=seed).adjacency
    )

    def confirmed(k: int) -> int:
        return len(evidence_of(find_communities(X, k, evidence=True)).confirmed)

    return X.toarray().astype(float), True, confirmed


POWER: dict[str, tuple[int, tuple[int, ...], Callable[[int, int], Drawn]]] = {
    "counts, rows": (5, (40, 80, 150, 300, 600), lambda n, seed: matrix(n, seed, True)),
    "mixtures, rows": (5, (40, 80, 150, 300, 600), lambda n, seed: matrix(n, seed, False)),
    "topics, documents": (5, (50, 100, 200, 500, 1000), corpus),
    "materials, side": (4, (10, 20, 30, 50), cube),
    "communities, nodes": (3, (100, 200, 400, 800), graph),
}


def too_many_asked(sets: int, first: int) -> None:
    """Ask each application for one to three components more than there are."""
    for name, (k, sizes, draw) in POWER.items():
        if draw in (corpus, cube, graph):
            start, false = time.perf_counter(), 0
            for seed in range(first, first + sets):
                n = sizes[1 + seed % (len(sizes) - 2)]
                false += draw(n, 10_000 + seed)[2](k + 1 + seed % 3) > k
            low, high = interval(false, sets)
            said = f"{false}/{sets} = {false / sets:.1%} [{low:.1%}, {high:.1%}]"
            seconds = time.perf_counter() - start
            print(f"too many {name:24} at 5 %: {said}   {seconds:.0f} s", flush=True)


def power(sets: int) -> None:
    print(
        "components; confirmed at k and at k + 2; stable of k + 2; held-out k; parallel analysis k"
    )
    for name, (k, sizes, draw) in POWER.items():
        for n in sizes:
            found = []
            for seed in range(sets):
                X, counts, confirmed = draw(n, seed)
                stable = (k + 2) * restarts(X, k + 2, counts)
                rivals = stable, held_out(X, counts, k + 3), parallel_analysis(X)
                found.append((confirmed(k), confirmed(k + 2), *rivals))
            said = " ".join(f"{mean:5.2f}" for mean in np.mean(found, axis=0))
            print(f"{name:18} {n:4}: {k}   {said}", flush=True)


# Evidence on an answer, its components, the true ones, and how two of them are compared.
Judged = tuple[Evidence, Floats, Floats, Callable[[Floats, Floats], float]]


def angle(a: Floats, b: Floats) -> float:
    cosine = float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return float(np.degrees(np.arccos(min(cosine, 1.0))))


def different_words(a: Floats, b: Floats) -> float:
    return 50.0 * float(np.abs(a / a.sum() - b / b.sum()).sum())


def misplaced(a: Floats, b: Floats) -> float:
    return 100.0 * float(np.abs(a - b).sum() / (a + b).sum())


def matrices(
    n: int, d: int, k: int, counts: bool, *, noise: float = 0.1, tails: bool = False, limit: int = 0
) -> Callable[[int], Judged]:
    """Return draws of counts, 60 a row over `noise` / .1, or of mixtures with clipped noise.

    The truth is the components, or what is found in `limit` further rows.
    """

    def draw(seed: int) -> Judged:
        rng = np.random.default_rng(seed)
        H, rows = rng.dirichlet(np.full(d, 0.3), k), n + limit
        mean = rng.dirichlet(np.full(k, 0.5), rows) @ H
        if counts:
            X = rng.poisson(6 / noise * mean).astype(float)
        else:
            left = rng.standard_t(3, (rows, d)) if tails else rng.standard_normal((rows, d))
            X = np.maximum(d * mean + noise * left, 0)
        find = finder(X, k, counts)
        whole, truth = find(np.arange(n)), find(np.arange(n, rows)) if limit else H
        return confirm_components(X[:n], find, whole, counts=counts), whole, truth, angle

    return draw


def topics(n: int, words: int, k: int) -> Callable[[int], Judged]:
    def draw(seed: int) -> Judged:
        corpus = topic_corpus(n, words, k, random_state=seed)
        found = find_topics(corpus.counts, k)
        truth = corpus.topics[:, found.word_columns]
        return evidence_of(found), found.topics, truth, different_words

    return draw


def materials(side: int, k: int) -> Callable[[int], Judged]:
    def draw(seed: int) -> Judged:
        cube = mixed_cube(side, side, 60, k, random_state=seed)
        found = unmix(cube.cube, k)
        return evidence_of(found), found.endmembers, cube.endmembers, angle

    return draw


def signatures(n: int, k: int) -> Callable[[int], Judged]:
    """Return draws of tumors with about half of the signatures each and very unequal burdens."""

    def draw(seed: int) -> Judged:
        rng = np.random.default_rng(seed)
        truth = rng.dirichlet(np.full(96, 0.15), k)
        exposures = rng.gamma(1.0, 1.0, (n, k)) * (rng.random((n, k)) < 0.5)
        means = rng.lognormal(6.0, 1.0, (n, 1)) * (exposures + 0.01) @ truth
        found = find_signatures(rng.poisson(means).astype(float), k)
        return evidence_of(found), found.signatures, truth, angle

    return draw


def communities(n: int) -> Callable[[int], Judged]:
    def draw(seed: int) -> Judged:
        network = mixed_membership_network(n, 3, mean_degree=0.1 * n, random_state=seed)
        found = find_communities(sp.csr_array(network.adjacency), 3, evidence=True)
        return evidence_of(found), found.memberships.T, network.memberships.T, misplaced

    return draw


def evidence_of(answer: Answer) -> Evidence:
    assert answer.certificate is not None and answer.certificate.evidence is not None
    return answer.certificate.evidence


ERRORS: dict[str, Callable[[int], Judged]] = {
    "counts 200 x 50": matrices(200, 50, 5, True),
    "counts 600 x 50": matrices(600, 50, 5, True),
    "counts 400 x 96": matrices(400, 96, 8, True, noise=0.03),
    "topics 500 x 400": topics(500, 400, 5),
    "topics 1500 x 800": topics(1500, 800, 8),
    "materials 50 x 50": materials(50, 4),
    "signatures 200 x 96": signatures(200, 6),
    "communities 400": communities(400),
    "mixtures 200 x 50": matrices(200, 50, 5, False),
    "mixtures 600 x 50, noisy": matrices(600, 50, 5, False, noise=0.5),
    "  from the limit": matrices(600, 50, 5, False, noise=0.5, limit=12_000),
    "mixtures 300 x 30, t noise": matrices(300, 30, 4, False, noise=0.2, tails=True),
    "  from the limit ": matrices(300, 30, 4, False, noise=0.2, tails=True, limit=6000),
    "mixtures 1000 x 25": matrices(1000, 25, 6, False, noise=0.2),
    "  from the limit  ": matrices(1000, 25, 6, False, noise=0.2, limit=20_000),
}


def errors(sets: int, first: int) -> None:
    print("true error over the stated one: median, 90 %; truth within a factor 2; at most twice")
    for name, draw in ERRORS.items():
        start, ratios = time.process_time(), []
        for seed in range(first, first + sets):
            found, whole, truth, distance = draw(seed)
            match = match_components(whole, truth)
            for mine, theirs in zip(match.found_rows, match.true_rows):
                stated = found.errors[mine]
                if mine in found.confirmed and stated:
                    ratios.append(distance(whole[mine], truth[theirs]) / stated)
        all_of = np.array(ratios)
        middle, high = np.quantile(all_of, [0.5, 0.9]) if ratios else (np.nan, np.nan)
        print(
            f"{name:27} {len(ratios):4} confirmed: {middle:.2f} {high:.2f} "
            f"{np.mean((all_of >= 0.5) & (all_of <= 2)):.0%} {np.mean(all_of <= 2):.0%}   "
            f"{time.process_time() - start:.0f} s",
            flush=True,
        )
    intervals_of_groups(sets)


def intervals_of_groups(sets: int) -> None:
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
            doubted += name == "rows" and "Neighboring" in bars.assumes
            match = match_components(fit.components, truth)
            mine = match.found_rows
            scaled = truth[match.true_rows] / match.scales[:, None]
            ok = (scaled >= bars.lower[mine]) & (scaled <= bars.upper[mine])
            held[name].append(float(ok.mean()))
    print({name: f"{np.mean(some):.1%}" for name, some in held.items()}, f"doubted {doubted}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", choices=["validity", "too-many", "power", "errors"])
    parser.add_argument("--sets", type=int, default=250)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--only", default="", help="kinds of null data with this in their name")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.question == "validity":
            validity(options.sets, options.first_seed, options.data, options.only)
        elif options.question == "too-many":
            too_many_asked(options.sets, options.first_seed)
        elif options.question == "power":
            power(options.sets)
        else:
            errors(options.sets, options.first_seed)


if __name__ == "__main__":
    main()
