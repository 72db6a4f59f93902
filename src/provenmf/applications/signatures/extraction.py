"""Signatures from counts: grown one by one under a penalized likelihood, superfluous ones removed.

    counts (tumors, channels) ≈ exposures (tumors, k) @ signatures (k, channels)

1. *Likelihood.* Counts vary more than Poisson counts: negative binomial with variance μ + a μ².
   Its score is that of a Poisson count times 1 / (1 + a μ), so every step is a Poisson step on
   entries with these weights. Large counts, and hypermutated tumors, do not decide alone.
2. *Sparse exposures.* In turn: exposures by backward elimination, where a signature stays in a
   tumor only if the likelihood asks for it, and signatures by EM on these supports. The price of an
   exposure is a share of the extended BIC, ½ log(mutations) + log k (Chen & Chen 2008). The full
   price would merge signatures that occur together: one exposure is cheaper than two.
3. *Growth.* A new signature starts from what the others leave of the counts, several places are
   tried, everything is fitted again, and the best is kept if the likelihood gains more than its
   parameters cost (`cost`). Fits from random starts end in local minima; here nothing is random.
4. *Pruning.* A signature whose removal lowers the penalized cost goes; the others are fitted again.
5. *Mixing.* If all tumors with signature A also have B, part of B may belong to A: the likelihood
   does not see it, but exposures to B can then be spared. EM on fixed supports cannot find this.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from provenmf.applications.signatures.kernels import sparse_exposures
from provenmf.methods.poisson.estimator import PoissonNMF

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Tuned on drawn counts and on synthetic tumors without and with moderate noise."""

    rich: int = 20  # components of the Poisson fit that overdispersion is first estimated from
    iterations: int = 200  # of that fit
    price: float = 0.5  # of an exposure, as a share of the extended BIC
    signature: float = 1.5  # price of a signature, as a multiple of its parameters' ½ log(1 + I)
    places: int = 3  # where a new signature is tried
    seeds: int = 60  # tumors whose residuals these places are sought from
    alike: float = 0.85  # cosine above which two of them are one
    tried: int = 3  # signatures whose removal is tried at a time
    searches: int = 4  # for missing signatures and mixtures after growth, at the most
    together: float = 0.5  # share of the tumors of a signature that have another one too, to mix
    gain: float = 40.0  # of the likelihood and prices by mixing, at the least
    rounds: int = 2  # of exposures and signatures in turn
    em_steps: int = 60  # for signatures in a round
    exposure_sweeps: tuple[int, int] = (30, 6)  # at first, after dropping a signature


SETTINGS = Settings()


class Tumors(NamedTuple):
    """Counts (n, d), none of whose rows is zero, and their overdispersion a ≥ 0."""

    counts: Floats
    overdispersion: float


class Extracted(NamedTuple):
    """Signatures (k, d) that sum to one, and exposures (n, k)."""

    signatures: Floats
    exposures: Floats

    @property
    def means(self) -> Floats:
        """Expected counts (n, d)."""
        return np.asarray(self.exposures @ self.signatures)


def extract(counts: Floats, n_signatures: int | None) -> tuple[Tumors, Extracted]:
    """Find signatures, as many as the penalized likelihood asks for or a given number.

    The overdispersion is estimated around a rich Poisson fit first, then around the signatures
    that were found with it.
    """
    tumors = Tumors(counts, overdispersion(counts, _rich_fit(counts)))
    found = prune(tumors, grow(tumors, n_signatures), n_signatures)
    tumors = Tumors(counts, overdispersion(counts, found))
    found = refine(tumors, found.signatures)
    for _ in range(SETTINGS.searches):
        before = cost(tumors, found)
        found = cheaper(tumors, found, _with_missing(tumors, found, n_signatures))
        for j, mixture in mixtures(tumors, found):
            if j < len(found.signatures):
                trial = found.signatures.copy()
                trial[j] = mixture
                found = cheaper(tumors, found, refine(tumors, trial))
        if cost(tumors, found) > before - 1:
            break
    return tumors, found


def _rich_fit(counts: Floats) -> Extracted:
    k = max(1, min(SETTINGS.rich, counts.shape[1] // 3, len(counts) // 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this fit need not converge
        model = PoissonNMF(k, max_iter=SETTINGS.iterations, certify=False, random_state=0)
        weights = np.asarray(model.fit_transform(counts), dtype=np.float64)
    return Extracted(np.asarray(model.components_, dtype=np.float64), weights)


def overdispersion(counts: Floats, found: Extracted) -> float:
    """Return a of the variance μ + a μ² at which the median tumor's Pearson statistic is one.

    The median is that of the tumors' information about a. A mean would take the misfit of tumors
    with a signature that is still missing for overdispersion.
    """
    means = np.maximum(found.means, 1e-9)
    freedom = np.maximum(counts.shape[1] - np.count_nonzero(found.exposures, axis=1), 1)

    def excess(a: float) -> float:
        statistics = ((counts - means) ** 2 / (means + a * means**2)).sum(axis=1) / freedom
        information = ((a * means / (1 + a * means)) ** 2).sum(axis=1) + 1e-9
        order = np.argsort(statistics)
        shares = np.cumsum(information[order])
        return float(statistics[order][np.searchsorted(shares, shares[-1] / 2)]) - 1.0

    least, most = 1e-6, 1.0
    if excess(least) <= 0.0:
        return 0.0
    return most if excess(most) >= 0.0 else float(brentq(excess, least, most))


def cheaper(tumors: Tumors, found: Extracted, trial: Extracted) -> Extracted:
    """Return the one with the lower penalized cost."""
    return trial if cost(tumors, trial) < cost(tumors, found) else found


def grow(tumors: Tumors, n_signatures: int | None) -> Extracted:
    """Add signatures one by one, as long as the penalized likelihood gains or to a given number."""
    counts = tumors.counts
    most = min(counts.shape) if n_signatures is None else n_signatures
    found = refine(tumors, counts.sum(axis=0, keepdims=True) / counts.sum())
    while len(found.signatures) < most:
        trials = [
            refine(tumors, np.vstack([found.signatures, new]))
            for new in unexplained(tumors, found, SETTINGS.places)
        ]
        # A signature that is used nowhere was dropped again.
        larger = [trial for trial in trials if len(trial.signatures) > len(found.signatures)]
        if not larger:
            break
        best = min(larger, key=lambda trial: cost(tumors, trial))
        if n_signatures is None and cost(tumors, best) >= cost(tumors, found):
            break
        found = best
    return found


def _with_missing(tumors: Tumors, found: Extracted, n_signatures: int | None) -> Extracted:
    """Add what still gains, then remove what has become superfluous."""
    for new in unexplained(tumors, found, 2 * SETTINGS.places):
        trial = refine(tumors, np.vstack([found.signatures, new]))
        found = cheaper(tumors, found, trial)
    return prune(tumors, found, n_signatures)


def unexplained(tumors: Tumors, found: Extracted, places: int) -> list[Floats]:
    """Return profiles whose addition promises most, none like another.

    They start from the residuals of badly fitted tumors. The gain of a tumor from a profile p is
    that of a score test, ½ (p·r)² / p²·w with weighted residual r and weights w; tumors where it
    exceeds the price of an exposure use p, and p is the least squares fit to their residuals.
    """
    counts, a = tumors
    means = np.maximum(found.means, 0.1)
    weights = 1.0 / (means * (1.0 + a * means))
    left = counts - found.means
    pulls, needed = left * weights, prices(counts, len(found.signatures) + 1)[:, None]
    misfits = np.einsum("ij,ij->i", np.maximum(left, 0.0) ** 2, weights)
    profiles = _shares(left[np.argsort(-misfits)[: SETTINGS.seeds]])
    for _ in range(6):
        scores = np.maximum(pulls @ profiles.T, 0.0)
        information = np.maximum(weights @ (profiles**2).T, 1e-300)
        gains = 0.5 * scores**2 / information - needed
        sizes = np.where(gains > 0, scores / information, 0.0)
        promised = np.maximum(gains, 0.0).sum(axis=0)
        fitted = (sizes.T @ pulls) / np.maximum((sizes**2).T @ weights, 1e-300)
        kept = (fitted > 0).any(axis=1)
        profiles, promised = _shares(fitted[kept]), promised[kept]
    units = profiles / np.maximum(np.linalg.norm(profiles, axis=1, keepdims=True), 1e-300)
    chosen: list[int] = []
    for i in np.argsort(-promised).tolist():
        if len(chosen) < places and np.all(units[chosen] @ units[i] < SETTINGS.alike):
            chosen.append(i)
    # EM cannot leave zero.
    return [0.99 * profiles[i] + 0.01 / counts.shape[1] for i in chosen]


def _shares(profiles: Floats) -> Floats:
    positive = np.maximum(profiles, 0.0)
    return np.asarray(positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300))


def mixtures(tumors: Tumors, found: Extracted) -> list[tuple[int, Floats]]:
    """Return signatures j with a share of another one that spares exposures, best first.

    A small gain is no reason: signatures that mostly occur together would be merged.
    """
    counts, k = tumors.counts, len(found.signatures)
    terms = _terms(tumors, found)
    best: dict[int, tuple[float, Floats]] = {}
    for j in range(k):
        users = found.exposures[:, j] > 0
        if not users.any():
            continue
        part = tumors._replace(counts=counts[users])
        ratios = found.exposures[users] / found.exposures[users][:, [j]]
        for i in np.flatnonzero((ratios > 0).mean(axis=0) > SETTINGS.together):
            for share in np.quantile(ratios[:, i], [0.1, 0.3, 0.5]) if i != j else ():
                signatures = found.signatures.copy()
                signatures[j] = (signatures[j] + share * signatures[i]) / (1.0 + share)
                trial = Extracted(signatures, exposures_of(part, signatures))
                gain = float((terms[users] - _terms(part, trial)).sum())
                if gain > (best[j][0] if j in best else SETTINGS.gain):
                    best[j] = gain, signatures[j]
    return [(j, best[j][1]) for j in sorted(best, key=lambda j: -best[j][0])]


def refine(tumors: Tumors, signatures: Floats) -> Extracted:
    """Improve sparse exposures and signatures in turn."""
    counts, a = tumors
    least = 1e-12 * float(counts.max())  # of a mean: where a count has none, its ratio is large

    def pulls(exposures: Floats, signatures: Floats) -> tuple[Floats, Floats]:
        """Return weighted ratios of counts and means, and the weights."""
        means = np.maximum(exposures @ signatures, least)
        weights = 1.0 / (1.0 + a * means)
        return weights * counts / means, weights

    for _ in range(SETTINGS.rounds):
        exposures = exposures_of(tumors, signatures)
        used = exposures.any(axis=0)
        signatures, exposures = signatures[used], exposures[:, used]
        for _ in range(SETTINGS.em_steps):
            ratios, weights = pulls(exposures, signatures)
            moved = signatures * (exposures.T @ ratios) / np.maximum(exposures.T @ weights, 1e-300)
            sums = np.maximum(moved.sum(axis=1, keepdims=True), 1e-300)
            signatures, exposures = moved / sums, exposures * sums.T
            ratios, weights = pulls(exposures, signatures)
            exposures *= (ratios @ signatures.T) / np.maximum(weights @ signatures.T, 1e-300)
        signatures = np.maximum(signatures, 1e-12)
        signatures = signatures / signatures.sum(axis=1, keepdims=True)
    return Extracted(signatures, exposures)


def prune(tumors: Tumors, found: Extracted, n_signatures: int | None) -> Extracted:
    """Remove signatures, the least needed first, as long as the penalized likelihood gains.

    The few that look least needed are removed in turn and everything else is fitted again.
    """
    while len(found.signatures) > (n_signatures or 1):
        costs = [_cost_without(tumors, found, j) for j in range(len(found.signatures))]
        for j in np.argsort(costs)[: SETTINGS.tried]:
            fewer = refine(tumors, np.delete(found.signatures, j, axis=0))
            if n_signatures is not None or cost(tumors, fewer) < cost(tumors, found):
                found = fewer
                break
        else:
            break
    return found


def cost(tumors: Tumors, found: Extracted) -> float:
    """Return minus the log-likelihood with penalties for exposures and signatures."""
    return float(_terms(tumors, found).sum() + _parameters(tumors, found).sum())


def _terms(tumors: Tumors, found: Extracted) -> Floats:
    """Return each tumor's minus log-likelihood and the prices of its exposures."""
    used = np.count_nonzero(found.exposures, axis=1)
    paid = used * prices(tumors.counts, len(found.signatures))
    return np.asarray(paid - _likelihoods(tumors, found.means))


def _parameters(tumors: Tumors, found: Extracted) -> Floats:
    """Return what each signature costs: ½ log(1 + information) of its channels.

    Information is about the logarithm of an entry, so a channel that the signature's users
    tell nothing about is free (Laplace's approximation with a prior as wide as the entry).
    """
    means = np.maximum(found.means, 0.1)
    weights = 1.0 / (means * (1.0 + tumors.overdispersion * means))
    information = ((found.exposures**2).T @ weights) * found.signatures**2
    return np.asarray(SETTINGS.signature * 0.5 * np.log1p(information).sum(axis=1))


def exposures_of(tumors: Tumors, signatures: Floats) -> Floats:
    """Return sparse exposures to fixed signatures."""
    counts, a = tumors
    needed = prices(counts, len(signatures))
    return np.asarray(sparse_exposures(counts, signatures, needed, a, *SETTINGS.exposure_sweeps))


def prices(counts: Floats, k: int) -> Floats:
    """Return the log-likelihood that one more signature must gain in each tumor."""
    totals = np.maximum(counts.sum(axis=1), 1.0)
    return np.asarray(SETTINGS.price * (0.5 * np.log(totals) + np.log(max(k, 2))))


def _cost_without(tumors: Tumors, found: Extracted, j: int) -> float:
    """Return how much the penalized cost rises without signature j; negative: superfluous."""
    users = found.exposures[:, j] > 0
    if not users.any():
        return -np.inf
    part = tumors._replace(counts=tumors.counts[users])
    rest = np.delete(found.signatures, j, axis=0)
    without = Extracted(rest, exposures_of(part, rest))
    saved = _parameters(tumors, found)[j]
    return float((_terms(part, without) - _terms(tumors, found)[users]).sum() - saved)


def _likelihoods(tumors: Tumors, means: Floats) -> Floats:
    counts, a = tumors
    rest = (counts + 1 / a) * np.log1p(a * means) if a > 0 else means
    return np.asarray((counts * np.log(np.maximum(means, 1e-300)) - rest).sum(axis=1))
