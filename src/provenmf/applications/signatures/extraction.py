"""Signatures from counts: consensus of many fits, sparse exposures, superfluous ones removed.

    counts (tumors, channels) ≈ exposures (tumors, k) @ signatures (k, channels)

1. *Dispersion.* Counts vary more than Poisson counts: variance μ + μ²/r. Scaling a row of counts
   scales its Poisson likelihood, so each tumor is scaled by 1 / (1 + μ/r): a few hypermutated
   tumors do not decide. What is left is one factor φ (quasi-Poisson).
2. *Consensus.* `PoissonNMF` on random parts of the tumors, with more and more components until
   fewer than four fifths of them come back; what several fits share is a candidate. Single fits
   end in local minima, their consensus hardly depends on the seed.
3. *Sparse exposures.* In turn: exposures by backward elimination, where a signature stays in a
   tumor only if the extended BIC asks for it, ½ log(mutations) + log k (Chen & Chen 2008), and
   signatures by EM on these supports. A tumor has few signatures, which makes them unique.
4. *Pruning.* A signature whose removal costs less likelihood than its parameters, ½ log(users) for
   each channel and the exposures' penalties, goes; the others are fitted again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.signatures.kernels import sparse_exposures

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Tuned on drawn counts and on synthetic tumors without and with moderate noise."""

    runs: int = 10  # fits of a consensus; 20 find the same
    part: float = 0.8  # of the tumors in each fit
    iterations: int = 200  # of each fit: signatures hardly move after them
    first_number: int = 8  # components of the first consensus, then 1.4 times as many
    growth: float = 1.4
    stable: float = 0.8  # share of components that must come back to go on with more
    alike: float = 0.12  # 1 − cosine within a cluster of the consensus (average linkage)
    support: float = 0.4  # share of the fits that show a candidate
    tried: int = 3  # signatures whose removal is tried at a time
    rounds: int = 4  # of sparse exposures and signatures in turn
    em_steps: int = 60  # for signatures in a round
    exposure_steps: tuple[int, int] = (30, 6)  # sweeps at first, after dropping a signature


SETTINGS = Settings()


class Weighted(NamedTuple):
    """Counts scaled by row: counts (n, d), scales (n,), dispersion φ left after scaling."""

    counts: Floats
    scales: Floats
    overdispersion: float  # 1/r
    dispersion: float = 1.0


class Extracted(NamedTuple):
    """Signatures (k, d) that sum to one, and exposures (n, k) of the scaled counts."""

    signatures: Floats
    exposures: Floats


def weigh(counts: Floats) -> Weighted:
    """Scale tumors so that those with many mutations do not outweigh the rest."""
    k = max(1, min(20, counts.shape[1] // 3, len(counts) // 3))
    fitted = _poisson_fit(counts, k)
    means = fitted.exposures @ fitted.signatures
    excess, squares = (counts - means) ** 2 - means, means**2
    large = means > 1.0
    ratios = [e[m].sum() / s[m].sum() for e, s, m in zip(excess, squares, large) if m.any()]
    inverse_size = max(float(np.median(ratios)), 0.0) if ratios else 0.0
    scales = scales_of(counts, inverse_size)
    return Weighted(counts * scales[:, None], scales, inverse_size)


def scales_of(counts: Floats, overdispersion: float) -> Floats:
    """Return 1 / (1 + μ/r) of each tumor, μ being the mean count that its mutations meet."""
    totals = np.maximum(counts.sum(axis=1), 1.0)
    return np.asarray(1.0 / (1.0 + overdispersion * (counts**2).sum(axis=1) / totals))


def extract(
    weighted: Weighted, n_signatures: int | None, rng: np.random.Generator
) -> tuple[Extracted, float]:
    """Find signatures, and the dispersion φ of the scaled counts around them."""
    counts = weighted.counts
    candidates = consensus(counts, n_signatures, rng)
    everything = sparse_exposures(counts, candidates, np.zeros(len(counts)), *_steps())
    phi = dispersion(counts, everything @ candidates, len(candidates))
    found = refine(counts, candidates, phi)
    return prune(counts, found, phi, n_signatures), phi


def consensus(counts: Floats, n_signatures: int | None, rng: np.random.Generator) -> Floats:
    """Cluster the components of fits to random parts of the tumors; return those that come back."""
    most = max(1, min(counts.shape[1] // 2, len(counts) // 2))
    number = SETTINGS.first_number if n_signatures is None else -(-n_signatures * 6 // 5)
    while True:
        number = min(number, most)
        means, support = _clusters(_fits(counts, number, rng))
        chosen = means[support >= SETTINGS.support]
        if n_signatures is not None:
            return chosen if len(chosen) >= n_signatures else means[:n_signatures]
        if len(chosen) < SETTINGS.stable * number or number == most:
            return chosen if len(chosen) else means[:1]
        number = int(np.ceil(SETTINGS.growth * number))


def refine(counts: Floats, signatures: Floats, phi: float) -> Extracted:
    """Improve sparse exposures and signatures in turn."""
    for _ in range(SETTINGS.rounds):
        exposures = exposures_of(counts, signatures, phi)
        used = exposures.any(axis=0)
        signatures, exposures = signatures[used], exposures[:, used]
        for _ in range(SETTINGS.em_steps):
            ratios = counts / np.maximum(exposures @ signatures, 1e-300)
            moved = signatures * (exposures.T @ ratios)
            sums = np.maximum(moved.sum(axis=1, keepdims=True), 1e-300)
            signatures = moved / sums
            exposures = exposures * (sums / np.maximum(exposures.sum(axis=0)[:, None], 1e-300)).T
            ratios = counts / np.maximum(exposures @ signatures, 1e-300)
            exposures = exposures * (ratios @ signatures.T)
    return Extracted(signatures, exposures)


def prune(counts: Floats, found: Extracted, phi: float, n_signatures: int | None) -> Extracted:
    """Remove signatures, the least needed first, as long as the penalized likelihood gains.

    The few that look least needed are removed in turn and everything else is fitted again.
    """
    while len(found.signatures) > (n_signatures or 1):
        costs = [_cost_without(counts, found, j, phi) for j in range(len(found.signatures))]
        for j in np.argsort(costs)[: SETTINGS.tried]:
            fewer = refine(counts, np.delete(found.signatures, j, axis=0), phi)
            if n_signatures is not None or cost(counts, fewer, phi) < cost(counts, found, phi):
                found = fewer
                break
        else:
            break
    return found


def cost(counts: Floats, found: Extracted, phi: float) -> float:
    """Return minus the log-likelihood with penalties for exposures and signatures."""
    used = np.count_nonzero(found.exposures, axis=1)
    users = np.maximum(np.count_nonzero(found.exposures, axis=0), 2)
    prices = used * penalties(counts, len(found.signatures), phi)
    fits = _likelihoods(counts, found.exposures @ found.signatures)
    return float((prices - fits).sum() / phi + 0.5 * counts.shape[1] * np.log(users).sum())


def exposures_of(counts: Floats, signatures: Floats, phi: float) -> Floats:
    """Return sparse exposures of (scaled) counts to fixed signatures."""
    return np.asarray(
        sparse_exposures(counts, signatures, penalties(counts, len(signatures), phi), *_steps())
    )


def penalties(counts: Floats, k: int, phi: float) -> Floats:
    """Return the log-likelihood that one more signature must gain in each tumor: extended BIC."""
    totals = np.maximum(counts.sum(axis=1) / phi, 1.0)
    return np.asarray(phi * (0.5 * np.log(totals) + np.log(max(k, 2))))


def dispersion(counts: Floats, means: Floats, k: int) -> float:
    """Return the median over tumors of Pearson's χ² per degree of freedom, at least 1."""
    squares = (counts - means) ** 2 / np.maximum(means, 0.05)
    free = max(counts.shape[1] - k, 1)
    return max(1.0, float(np.median(squares.sum(axis=1) / free)))


def _steps() -> tuple[int, int]:
    return SETTINGS.exposure_steps


def _cost_without(counts: Floats, found: Extracted, j: int, phi: float) -> float:
    """Return how much the penalized cost rises without signature j; negative: superfluous."""
    users = found.exposures[:, j] > 0
    if not users.any():
        return -np.inf
    rows, rest = counts[users], np.delete(found.signatures, j, axis=0)
    again = exposures_of(rows, rest, phi)
    price = penalties(rows, len(found.signatures), phi) / phi
    before, after = found.exposures[users], again
    lost = _likelihoods(rows, before @ found.signatures) - _likelihoods(rows, after @ rest)
    fewer = np.count_nonzero(before, axis=1) - np.count_nonzero(after, axis=1)
    parameters = 0.5 * counts.shape[1] * np.log(max(int(users.sum()), 2))
    return float((lost / phi - price * fewer).sum() - parameters)


def _likelihoods(counts: Floats, means: Floats) -> Floats:
    return np.asarray((counts * np.log(np.maximum(means, 1e-300)) - means).sum(axis=1))


def _poisson_fit(counts: Floats, k: int) -> Extracted:
    from provenmf.methods.poisson.estimator import PoissonNMF

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of the consensus need not converge
        model = PoissonNMF(k, max_iter=SETTINGS.iterations, certify=False, random_state=0, n_init=1)
        exposures = np.asarray(model.fit_transform(counts), dtype=np.float64)
    sums = np.maximum(model.components_.sum(axis=1), 1e-300)
    return Extracted(model.components_ / sums[:, None], exposures * sums)


def _fits(counts: Floats, k: int, rng: np.random.Generator) -> list[Floats]:
    size = max(k + 1, int(SETTINGS.part * len(counts)))
    parts = [rng.choice(len(counts), size, replace=False) for _ in range(SETTINGS.runs)]
    return [_poisson_fit(counts[np.sort(part)], k).signatures for part in parts]


def _clusters(fits: list[Floats]) -> tuple[Floats, Floats]:
    """Return the median of every cluster of components, and the share of fits that show it."""
    from scipy.cluster.hierarchy import fcluster, linkage

    pooled = np.vstack(fits)
    source = np.repeat(np.arange(len(fits)), [len(fit) for fit in fits])
    labels = fcluster(linkage(pooled, "average", metric="cosine"), SETTINGS.alike, "distance")
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    support = np.array([len(np.unique(source[m])) / len(fits) for m in members])
    order = np.argsort(-support, kind="stable")
    means = np.array([np.median(pooled[members[m]], axis=0) for m in order])
    return means / np.maximum(means.sum(axis=1, keepdims=True), 1e-300), support[order]
