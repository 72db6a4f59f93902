"""The penalized likelihood of signatures, and what lowers it while their supports are at hand.

    counts (tumors, channels) ≈ exposures (tumors, k) @ signatures (k, channels)

1. *Likelihood.* Counts vary more than Poisson counts: negative binomial with variance μ + a μ².
   Its score is that of a Poisson count times 1 / (1 + a μ), so every step is a Poisson step on
   entries with these weights. Large counts, and hypermutated tumors, do not decide alone.
2. *Sparse exposures.* In turn: exposures by backward elimination, where a signature stays in a
   tumor only if the likelihood asks for it, and signatures by Newton's method on these supports.
   An exposure costs a share of ½ log(mutations), and the log odds against it: the share of tumors
   that use the signature is its prior probability. With the same price for all, signatures that
   occur with a common one would be merged with it: one exposure is cheaper than two.
3. *Signatures* cost what their entries tell (`parameters`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from provenmf.applications.signatures.kernels import (
    improve_exposures_in_place,
    improve_signatures_in_place,
    inverse_variances,
    sparse_exposures,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Tuned on drawn counts and on synthetic tumors without and with moderate noise."""

    rich: int = 20  # components of the Poisson fit that overdispersion is first estimated from
    iterations: int = 200  # of that fit
    most_say: float = 4.0  # of a tumor about overdispersion, as a multiple of the median's
    price: float = 0.5  # of an exposure, as a share of ½ log(mutations)
    common: float = 0.75  # largest prior of an exposure; more, and all would use what most use
    eager: float = 0.5  # price of a signature during growth, as a share of the full one
    surplus: float = 1.3  # signatures after growth, as a multiple of those that pay the full price
    places: int = 3  # where a new signature is tried
    seeds: int = 60  # tumors whose residuals these places are sought from
    alike: float = 0.85  # cosine above which two of them are one
    tried: int = 3  # signatures whose removal is tried at a time
    searches: int = 6  # for missing signatures and mixtures after growth, at the most
    mixings: int = 4  # rounds of mixtures in a search
    slack: float = 30.0  # rise of the cost that fitting everything again may make good
    lean: float = 100.0  # gain in favor of taking out, for each share of the other
    cuts: tuple[float, ...] = (0.02, 0.1, 0.35)  # parts of the other that lack what is taken out
    mixed: int = 12  # trials in a round of mixtures
    rounds: int = 2  # of exposures and signatures in turn
    steps: int = 5  # for signatures and exposures on their supports in a round
    sweeps: int = 2  # of Newton's method in a step
    exposure_sweeps: tuple[int, int] = (30, 6)  # at first, after dropping a signature
    candidates: int = 3  # unused signatures that a tumor tries beside those it uses


SETTINGS = Settings()


class Tumors(NamedTuple):
    """Counts (n, d), none of whose rows is zero, and their overdispersion a ≥ 0."""

    counts: Floats
    overdispersion: float

    def weights(self, means: Floats) -> Floats:
        """Return one over the variances of counts with these means."""
        return np.asarray(inverse_variances(means, self.overdispersion))


class Extracted(NamedTuple):
    """Signatures (k, d) that sum to one, and exposures (n, k)."""

    signatures: Floats
    exposures: Floats

    @property
    def means(self) -> Floats:
        """Expected counts (n, d)."""
        return np.asarray(self.exposures @ self.signatures)

    @property
    def prevalence(self) -> Floats:
        """Shares (k,) of the tumors that use each signature, never zero or one."""
        used = np.count_nonzero(self.exposures, axis=0)
        return np.asarray((used + 0.5) / (len(self.exposures) + 1.0))


def overdispersion(counts: Floats, found: Extracted) -> float:
    """Return a of the variance μ + a μ² at which the median tumor's Pearson statistic is one.

    The median is that of the tumors' information about a, of which none has much more than others:
    hypermutated ones, which fits follow closely, would hide all overdispersion. A mean would take
    the misfit of tumors with a signature that is still missing for overdispersion.
    """
    means = np.maximum(found.means, 1e-9)
    seen = means > 1.0  # the statistics of rare mutations are mostly zero and seldom large
    fitted = found.signatures.size / len(counts) * seen.mean(axis=1)

    def excess(a: float) -> float:
        variances = means + a * means**2
        # An exposure that the counts say next to nothing about fits nothing.
        information = (1.0 / np.maximum(variances, 0.1)) @ (found.signatures**2).T
        informed = np.count_nonzero(found.exposures**2 * information > 1.0, axis=1)
        freedom = np.maximum(seen.sum(axis=1) - fitted - informed, 1.0)
        statistics = (seen * (counts - means) ** 2 / variances).sum(axis=1) / freedom
        # Median of a gamma variable with mean one and this variance, by Wilson and Hilferty.
        variance = (seen * (2.0 + 6.0 * a + 1.0 / variances)).sum(axis=1) / freedom**2
        statistics /= np.maximum(1.0 - variance / 9.0, 0.5) ** 3
        say = ((a * means / (1 + a * means)) ** 2).sum(axis=1) + 1e-9
        say = np.minimum(say, SETTINGS.most_say * np.median(say))
        order = np.argsort(statistics)
        shares = np.cumsum(say[order])
        return float(statistics[order][np.searchsorted(shares, shares[-1] / 2)]) - 1.0

    least, most = 1e-6, 1.0
    if excess(least) <= 0.0:
        return 0.0
    return most if excess(most) >= 0.0 else float(brentq(excess, least, most))


def refine(tumors: Tumors, found: Extracted, only: int | None = None) -> Extracted:
    """Improve sparse exposures and signatures in turn, or one signature and all of its users."""
    signatures, exposures = found.signatures, found.exposures.copy()
    rows, free = np.arange(len(exposures)), np.arange(len(signatures))
    if only is not None:
        rows, free = np.flatnonzero(exposures[:, only]), free[[only]]
    part, a = tumors.counts[rows], tumors.overdispersion
    columns = np.ascontiguousarray(part.T)
    for _ in range(SETTINGS.rounds):
        prevalence = Extracted(signatures, exposures).prevalence
        mine = exposures_of(Tumors(part, a), signatures, prevalence, exposures[rows])
        owners, users = np.nonzero(mine.T)
        first = np.searchsorted(owners, np.arange(len(signatures) + 1))
        for _ in range(SETTINGS.steps):
            entries, given = np.ascontiguousarray(signatures.T), mine[users, owners]
            improve_signatures_in_place(
                columns, first, users, given, entries, free, a, SETTINGS.sweeps
            )
            entries = np.maximum(entries, 1e-12 * entries.sum(axis=0))
            sums = np.maximum(entries.sum(axis=0), 1e-300)
            signatures, mine = np.ascontiguousarray((entries / sums).T), mine * sums
            improve_exposures_in_place(part, signatures, mine, a, SETTINGS.sweeps)
        exposures[rows] = mine
    used = exposures.any(axis=0)
    return Extracted(signatures[used], exposures[:, used])


def exposures_of(
    tumors: Tumors, signatures: Floats, prevalence: Floats, start: Floats | None = None
) -> Floats:
    """Return sparse exposures to fixed signatures, which a given share of the tumors uses.

    From `start`, where it is given, they change as far as single tumors ask for it.
    """
    counts, a = tumors
    start = np.zeros((len(counts), len(signatures))) if start is None else start
    needed, options = prices(counts, prevalence), (*SETTINGS.exposure_sweeps, SETTINGS.candidates)
    return np.asarray(sparse_exposures(counts, signatures, needed, start, a, *options))


def prices(counts: Floats, prevalence: Floats) -> Floats:
    """Return the log-likelihood that each signature must gain in each tumor (n, k)."""
    share = np.clip(prevalence, _rare(len(prevalence)), SETTINGS.common)
    return np.asarray(np.maximum(_base(counts)[:, None] + np.log(1.0 / share - 1.0), 0.0))


def _base(counts: Floats) -> Floats:
    """Return the part of a tumor's prices that is the same for all signatures."""
    return np.asarray(SETTINGS.price * 0.5 * np.log(np.maximum(counts.sum(axis=1), 1.0)))


def _rare(k: int) -> float:
    """Return the smallest prior probability of an exposure; its odds are 1 to √k.

    A signature may be rare and yet common in a kind of tumors.
    """
    return float(1.0 / (1.0 + np.sqrt(max(k, 2))))


def cost(tumors: Tumors, found: Extracted, signature: float = 1.0) -> float:
    """Return the negative log-likelihood with penalties of exposures and a share of signatures.

    Each further exposure to a signature costs what `prices` says, so all together cost the sum
    from none to as many as there are: entropies where the prior is not at one of its ends.
    """
    n, k = found.exposures.shape
    share, rare, common = found.prevalence, _rare(k), SETTINGS.common
    inner = np.append(np.clip(share, rare, common), rare)
    entropies = -inner * np.log(inner) - (1.0 - inner) * np.log(1.0 - inner)
    odds = entropies[:-1] - entropies[-1] + np.minimum(share, rare) * np.log(1.0 / rare - 1.0)
    above = np.maximum(share - common, 0.0)
    odds += above * np.log(1.0 / common - 1.0) if above.any() else 0.0
    paid = _base(tumors.counts) @ np.count_nonzero(found.exposures, axis=1) + n * odds.sum()
    fit = likelihoods(tumors, found.means).sum()
    return float(paid - fit + signature * parameters(tumors, found).sum())


def tumor_costs(tumors: Tumors, found: Extracted, prevalence: Floats) -> Floats:
    """Return each tumor's minus log-likelihood and the prices of its exposures."""
    paid = (prices(tumors.counts, prevalence) * (found.exposures > 0)).sum(axis=1)
    return np.asarray(paid - likelihoods(tumors, found.means))


def parameters(tumors: Tumors, found: Extracted) -> Floats:
    """Return what each signature costs: ½ log(1 + information / d²), summed over d channels.

    Laplace's approximation with a prior as wide as the mean entry, 1 / d. So a channel that the
    signature's users tell nothing about is free. With a prior as wide as the entry itself, entries
    near zero would be free too, and fitting them would raise the cost.
    """
    weights = tumors.weights(found.means)
    information = ((found.exposures**2).T @ weights) / weights.shape[1] ** 2
    return np.asarray(0.5 * np.log1p(information).sum(axis=1))


def likelihoods(tumors: Tumors, means: Floats) -> Floats:
    """Return the log-likelihood of each tumor, without the constant of the data."""
    counts, a = tumors
    rest = (counts + 1 / a) * np.log1p(a * means) if a > 0 else means
    return np.asarray((counts * np.log(np.maximum(means, 1e-300)) - rest).sum(axis=1))
