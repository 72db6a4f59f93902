"""Signatures from counts: grown one by one under a penalized likelihood, superfluous ones removed.

    counts (tumors, channels) ≈ exposures (tumors, k) @ signatures (k, channels)

1. *Dispersion.* Counts vary more than Poisson counts: variance μ + μ²/r. Scaling a row of counts
   scales its Poisson likelihood, so each tumor is scaled by 1 / (1 + μ/r): a few hypermutated
   tumors do not decide. What is left is one factor φ (quasi-Poisson).
2. *Sparse exposures.* In turn: exposures by backward elimination, where a signature stays in a
   tumor only if the extended BIC asks for it, ½ log(mutations) + log k (Chen & Chen 2008), and
   signatures by EM on these supports. A tumor has few signatures, which makes them unique.
3. *Growth.* A new signature starts from what the others leave of the counts, several places are
   tried, everything is fitted again, and the best is kept if the likelihood gains more than its
   parameters cost: ½ log(users) for each channel, and the exposures' penalties. Fits from random
   starts end in local minima; this way nothing is random.
4. *Pruning.* A signature whose removal lowers the penalized cost goes; the others are fitted again.
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

    rich: int = 20  # components of the fit that dispersion is estimated from
    iterations: int = 200  # of that fit
    places: int = 3  # where a new signature is tried
    tried: int = 3  # signatures whose removal is tried at a time
    rounds: int = 2  # of exposures and signatures in turn; more follow the noise of large tumors
    em_steps: int = 60  # for signatures in a round
    exposure_steps: tuple[int, int] = (30, 6)  # sweeps at first, after dropping a signature
    dispersion: float = 1.5  # φ at the least: exposures must be sparse


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
    k = max(1, min(SETTINGS.rich, counts.shape[1] // 3, len(counts) // 3))
    fitted = _poisson_fit(counts, k)
    means = fitted.exposures @ fitted.signatures
    inverse_size = overdispersion(counts, means, np.count_nonzero(fitted.exposures, axis=1))
    scales = scales_of(counts, inverse_size)
    return Weighted(counts * scales[:, None], scales, inverse_size)


def overdispersion(counts: Floats, means: Floats, used: NDArray[np.intp]) -> float:
    """Return 1/r of the variance μ + μ²/r by moments, each entry weighted by 1 / (1 + μ/r)²."""
    d = counts.shape[1]
    squares = (counts - means) ** 2 * (d / np.maximum(d - used, 1))[:, None]
    found = 0.0
    for _ in range(50):
        weights = 1.0 / (1.0 + found * means) ** 2
        size = float(np.sum(weights * means**2))
        excess = float(np.sum(weights * (squares - means)))
        found = (found + max(excess / size if size > 0 else 0.0, 0.0)) / 2
    return found if found > 1e-9 else 0.0


def scales_of(counts: Floats, overdispersion: float) -> Floats:
    """Return 1 / (1 + μ/r) of each tumor, μ being the mean count that its mutations meet."""
    totals = np.maximum(counts.sum(axis=1), 1.0)
    return np.asarray(1.0 / (1.0 + overdispersion * (counts**2).sum(axis=1) / totals))


def extract(weighted: Weighted, n_signatures: int | None) -> tuple[Extracted, float]:
    """Find signatures, and the dispersion φ of the scaled counts around them."""
    counts = weighted.counts
    found = grow(counts, n_signatures)
    phi = max(SETTINGS.dispersion, dispersion(counts, found))
    return prune(counts, found, phi, n_signatures), phi


def grow(counts: Floats, n_signatures: int | None) -> Extracted:
    """Add signatures one by one, as long as the penalized likelihood gains or to a given number."""
    phi, most = SETTINGS.dispersion, min(counts.shape) if n_signatures is None else n_signatures
    found = refine(counts, counts.sum(axis=0, keepdims=True) / counts.sum(), phi)
    while len(found.signatures) < most:
        trials = [
            refine(counts, np.vstack([found.signatures, new]), phi)
            for new in unexplained(counts, found)
        ]
        costs = [cost(counts, trial, phi) for trial in trials]
        if not trials or (n_signatures is None and min(costs) >= cost(counts, found, phi)):
            break
        if n_signatures is not None:  # one that is used nowhere would be dropped again
            larger = [len(trial.signatures) > len(found.signatures) for trial in trials]
            costs = [c if more else np.inf for c, more in zip(costs, larger)]
            if not any(larger):
                break
        found = trials[int(np.argmin(costs))]
    return found


def unexplained(counts: Floats, found: Extracted) -> list[Floats]:
    """Return profiles that explain most of what is left, each without what those before it explain.

    Residuals are divided by the root of the tumor's mutations, which makes them comparable.
    """
    sizes = np.sqrt(np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
    left = (counts - found.exposures @ found.signatures) / sizes
    profiles: list[Floats] = []
    for _ in range(SETTINGS.places):
        positive = np.maximum(left, 0.0)
        profile = positive[np.argmax(np.einsum("ij,ij->i", positive, positive))]
        for _ in range(20):
            profile = np.maximum(left.T @ np.maximum(left @ profile, 0.0), 0.0)
            length = float(np.linalg.norm(profile))
            if length == 0.0:
                return profiles
            profile = profile / length
        left = left - np.outer(np.maximum(left @ profile, 0.0), profile)
        # EM cannot leave zero.
        profiles.append(0.99 * profile / profile.sum() + 0.01 / len(profile))
    return profiles


def refine(counts: Floats, signatures: Floats, phi: float) -> Extracted:
    """Improve sparse exposures and signatures in turn."""
    least = 1e-12 * float(counts.max())  # of a mean: where a count has none, its ratio is large
    for _ in range(SETTINGS.rounds):
        exposures = exposures_of(counts, signatures, phi)
        used = exposures.any(axis=0)
        signatures, exposures = signatures[used], exposures[:, used]
        for _ in range(SETTINGS.em_steps):
            ratios = counts / np.maximum(exposures @ signatures, least)
            moved = signatures * (exposures.T @ ratios)
            sums = np.maximum(moved.sum(axis=1, keepdims=True), 1e-300)
            signatures = moved / sums
            exposures = exposures * (sums / np.maximum(exposures.sum(axis=0)[:, None], 1e-300)).T
            ratios = counts / np.maximum(exposures @ signatures, least)
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


def dispersion(counts: Floats, found: Extracted) -> float:
    """Return the median over tumors of Pearson's χ² per degree of freedom, at least 1."""
    means = found.exposures @ found.signatures
    squares = ((counts - means) ** 2 / np.maximum(means, 0.05)).sum(axis=1)
    free = np.maximum(counts.shape[1] - np.count_nonzero(found.exposures, axis=1), 1)
    return max(1.0, float(np.median(squares / free)))


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
