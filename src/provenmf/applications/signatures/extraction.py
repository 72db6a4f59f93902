"""Signatures from counts: a search for the least penalized cost, without random starts.

    counts (tumors, channels) ≈ exposures (tumors, k) @ signatures (k, channels)

1. *Likelihood.* Counts vary more than Poisson counts: negative binomial with variance μ + a μ².
   Its score is that of a Poisson count times 1 / (1 + a μ), so every step is a Poisson step on
   entries with these weights. Large counts, and hypermutated tumors, do not decide alone.
2. *Sparse exposures.* In turn: exposures by backward elimination, where a signature stays in a
   tumor only if the likelihood asks for it, and signatures by Newton's method on these supports.
   An exposure costs a share of ½ log(mutations), and the log odds against it: the share of tumors
   that use the signature is its prior probability. With the same price for all, signatures that
   occur with a common one would be merged with it: one exposure is cheaper than two.
3. *Growth.* A new signature starts from what the others leave of the counts, several places are
   tried, everything is fitted again, and the best is kept if the likelihood gains more than its
   parameters cost (`cost`). Growth is eager and too many are mixed and pruned: two signatures that
   were taken for one have parted by then.
4. *Search.* Until the cost falls no more: add what is missing, remove what is superfluous, mix
   (a part of one signature is taken out of another or given to it; supports would have to change
   in many tumors at once, so descent cannot find this), exchange (remove one and add what is
   missing then).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from provenmf.applications.signatures.kernels import (
    improve_exposures_in_place,
    improve_signatures_in_place,
    sparse_exposures,
)
from provenmf.methods.poisson.estimator import PoissonNMF
from provenmf.methods.run import Run
from provenmf.results import StopReason

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
    exchanged: int = 6  # signatures that are exchanged in a search
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
        means = np.maximum(means, 0.1)
        return np.asarray(1.0 / (means * (1.0 + self.overdispersion * means)))


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


Search = Generator[tuple[Tumors, Extracted], None, Extracted]


def extract(
    counts: Floats, n_signatures: int | None, run: Run | None = None
) -> tuple[Tumors, Extracted]:
    """Find signatures, as many as the penalized likelihood asks for or a given number.

    Every step of the search is an iteration of the run; if it is interrupted, what has been found
    so far is returned.
    """
    steps, run = _search(counts, n_signatures), run or Run(sys.maxsize)
    for _ in run:
        step = next(steps, None)
        if step is None:
            run.stop(StopReason.CONVERGED)
        else:
            tumors, found = step
            run.record(signatures=len(found.signatures))
    return tumors, found


def _search(counts: Floats, n_signatures: int | None) -> Search:
    """Yield better and better fits.

    The overdispersion is estimated around a rich Poisson fit first, then around the signatures
    that were found with it.
    """
    tumors = Tumors(counts, overdispersion(counts, _rich_fit(counts)))
    found = yield from grow(tumors, n_signatures)
    yield tumors, found  # also if the first signature is all there is
    found = yield from _mixed(tumors, found)
    found = yield from prune(tumors, found, n_signatures)
    tumors = Tumors(counts, overdispersion(counts, found))
    found = refine(tumors, found)
    for _ in range(SETTINGS.searches):
        found = cheaper(tumors, found, _afresh(tumors, found))
        before = cost(tumors, found)
        found = yield from _with_missing(tumors, found, n_signatures)
        found = yield from _mixed(tumors, found)
        found = yield from _exchanged(tumors, found)
        if cost(tumors, found) > before - 1:
            break
    return found


def _rich_fit(counts: Floats) -> Extracted:
    k = max(1, min(SETTINGS.rich, counts.shape[1] // 3, len(counts) // 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this fit need not converge
        model = PoissonNMF(k, max_iter=SETTINGS.iterations, certify=False, random_state=0)
        weights = np.asarray(model.fit_transform(counts), dtype=np.float64)
    return Extracted(np.asarray(model.components_, dtype=np.float64), weights)


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


def cheaper(tumors: Tumors, found: Extracted, trial: Extracted) -> Extracted:
    """Return the trial with everything fitted again if it costs less and keeps all signatures.

    It is not fitted again if it costs much more than what was found.
    """
    least = cost(tumors, found)
    if cost(tumors, trial) < least + SETTINGS.slack:
        trial = refine(tumors, trial)
        if len(trial.signatures) >= len(found.signatures) and cost(tumors, trial) < least:
            return trial
    return found


def grow(tumors: Tumors, n_signatures: int | None) -> Search:
    """Add signatures one by one, somewhat more than are wanted or pay for themselves."""
    counts = tumors.counts
    totals = counts.sum(axis=1, keepdims=True)
    mean = counts.sum(axis=0, keepdims=True) / counts.sum()
    found = refine(tumors, Extracted(mean, totals))
    least, wanted = cost(tumors, found), n_signatures or 1
    while len(found.signatures) < min(*counts.shape, SETTINGS.surplus * wanted + 2):
        yield tumors, found
        trials = [_with(tumors, found, new) for new in unexplained(tumors, found, SETTINGS.places)]
        costs = [cost(tumors, trial, SETTINGS.eager) for trial in trials]
        if not trials:
            break
        larger = refine(tumors, trials[int(np.argmin(costs))])
        paid = cost(tumors, larger, SETTINGS.eager) < cost(tumors, found, SETTINGS.eager)
        # A signature that is used nowhere was dropped again.
        if len(larger.signatures) <= len(found.signatures) or not (
            paid or len(found.signatures) < wanted
        ):
            break
        found = larger
        if n_signatures is None and cost(tumors, found) < least:
            least, wanted = cost(tumors, found), len(found.signatures)
    return found


def _with_missing(tumors: Tumors, found: Extracted, n_signatures: int | None) -> Search:
    """Add signatures that still lower the cost, then remove those that have become superfluous."""
    for new in unexplained(tumors, found, 2 * SETTINGS.places):
        found = cheaper(tumors, found, _with(tumors, found, new))
        yield tumors, found
    return (yield from prune(tumors, found, n_signatures))


def _with(tumors: Tumors, found: Extracted, new: Extracted) -> Extracted:
    """Return the fit with one more signature, fitted to the tumors that gain from it."""
    signatures = np.vstack([found.signatures, new.signatures])
    grown = Extracted(signatures, np.hstack([found.exposures, new.exposures]))
    return refine(tumors, grown, len(found.signatures))


def _without(tumors: Tumors, found: Extracted, j: int) -> Extracted:
    """Return the fit without signature j."""
    rest = np.delete(found.signatures, j, axis=0), np.delete(found.exposures, j, axis=1)
    return refine(tumors, Extracted(*rest))


def _mixed(tumors: Tumors, found: Extracted) -> Search:
    """Try mixtures until none lowers the cost."""
    for _ in range(SETTINGS.mixings):
        before = found
        for mixture in mixtures(tumors, found):
            found = cheaper(tumors, found, refine(tumors, mixture.of(found), mixture.changed))
            yield tumors, found
        if found is before:
            break
    return found


def _exchanged(tumors: Tumors, found: Extracted) -> Search:
    """Remove in turn the signatures that look least needed, and add what is missing then."""
    if len(found.signatures) == 1:
        return found
    costs = _costs_without(tumors, found)
    for signature in found.signatures[np.argsort(costs)[: SETTINGS.exchanged]]:
        j = int(np.argmin(np.abs(found.signatures - signature).sum(axis=1)))
        rest = _without(tumors, found, j)
        for new in unexplained(tumors, rest, 1):
            found = cheaper(tumors, found, _with(tumors, rest, new))
        yield tumors, found
    return found


def unexplained(tumors: Tumors, found: Extracted, places: int) -> list[Extracted]:
    """Return the most promising signatures to add, no two of them alike, and first exposures.

    They start from the residuals of badly fitted tumors. The gain of a tumor from a profile p is
    that of a score test, ½ (p·r)² / p²·w with weighted residual r and weights w; tumors where it
    exceeds the price of an exposure use p, and p is the least squares fit to their residuals.
    """
    counts, weights = tumors.counts, tumors.weights(found.means)
    left = counts - found.means
    pulls, needed = left * weights, prices(counts, np.zeros(1))
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
    # Zeros would stay zero.
    shapes, sizes = 0.99 * profiles + 0.01 / counts.shape[1], sizes[:, kept]
    return [Extracted(shapes[[i]], sizes[:, [i]]) for i in chosen]


def _shares(profiles: Floats) -> Floats:
    positive = np.maximum(profiles, 0.0)
    return np.asarray(positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300))


class Mixture(NamedTuple):
    """A signature to change, and the share of another one that it gets, or loses if negative."""

    changed: int
    other: int
    share: float

    def of(self, found: Extracted) -> Extracted:
        """Return signatures with this one changed, and exposures with which means stay the same."""
        (j, i, share), (signatures, exposures) = self, (part.copy() for part in found)
        mixed = np.maximum(signatures[j] + share * signatures[i], 1e-3 * signatures[j])
        signatures[j] = mixed / mixed.sum()
        exposures[:, i] = np.maximum(exposures[:, i] - share * exposures[:, j], 0.0)
        exposures[:, j] *= mixed.sum()
        return Extracted(signatures, exposures)


def mixtures(tumors: Tumors, found: Extracted) -> list[Mixture]:
    """Return mixtures of each signature with another one, those that promise most first.

    With s_j + t s_i in place of s_j, means stay the same if exposures e_i become e_i - t e_j. These
    are nonnegative, so e_i in the old terms is free down to t e_j: there an exposure is spared,
    above it one is paid. Each tumor takes the better one, by a quadratic approximation of the
    likelihood in which its other exposures are fitted again.
    """
    exposures, signatures = found.exposures, found.signatures
    price = prices(tumors.counts, found.prevalence)
    score, information = _profile(tumors, found)
    trials = []
    for j, signature in enumerate(signatures):
        users = exposures[:, j] > 0
        mine = exposures[users][:, [j]]
        pairs = []
        for i in np.flatnonzero(np.arange(len(signatures)) != j):
            slope, curvature, theirs, paid = (
                values[users, i][:, None] for values in (score, information, exposures, price)
            )
            ratios = signature / np.maximum(signatures[i], 1e-12)
            order = np.argsort(ratios)
            places = np.searchsorted(np.cumsum(signatures[i][order]), SETTINGS.cuts)
            shares = np.append(-ratios[order[places]], np.quantile(theirs / mine, [0.1, 0.3, 0.5]))
            bound = shares * mine - theirs
            above = np.maximum(bound, slope / curvature)
            spared = (slope - 0.5 * curvature * bound) * bound + paid * (theirs > 0)
            kept = (slope - 0.5 * curvature * above) * above - paid * (theirs == 0)
            # Taking out pays off more than this says: the signature is then fitted better.
            gains = np.maximum(spared, kept).sum(axis=0) + SETTINGS.lean * np.maximum(-shares, 0.0)
            t = int(np.argmax(gains))
            pairs.append((float(gains[t]), Mixture(j, int(i), float(shares[t]))))
        if pairs:
            trials.append(max(pairs))
    return [mixture for _, mixture in sorted(trials, reverse=True)[: SETTINGS.mixed]]


def _profile(tumors: Tumors, found: Extracted) -> tuple[Floats, Floats]:
    """Return score and information (n, k) of each exposure, the others used being fitted."""
    signatures, exposures = found
    weights = tumors.weights(found.means)
    score = ((tumors.counts - found.means) * weights) @ signatures.T
    information = np.empty_like(exposures)
    for row, weight, used in zip(information, weights, exposures > 0):
        full = (signatures * weight) @ signatures.T
        inverse = np.linalg.pinv(full[np.ix_(used, used)], hermitian=True)
        row[:] = np.diag(full) - np.einsum("ja,ab,jb->j", full[:, used], inverse, full[:, used])
        row[used] = 1.0 / np.maximum(np.diag(inverse), 1e-300)
    return score, np.maximum(information, 1e-12)


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


def _afresh(tumors: Tumors, found: Extracted) -> Extracted:
    """Return the fit with its exposures computed from scratch."""
    exposures = exposures_of(tumors, found.signatures, found.prevalence)
    return found._replace(exposures=exposures)


def prune(tumors: Tumors, found: Extracted, n_signatures: int | None) -> Search:
    """Remove signatures, the least needed first, as long as the penalized likelihood gains.

    The few that look least needed are removed in turn and everything else is fitted again.
    """
    while len(found.signatures) > (n_signatures or 1):
        yield tumors, found
        costs = _costs_without(tumors, found)
        for j in np.argsort(costs)[: SETTINGS.tried]:
            fewer = _without(tumors, found, j)
            if n_signatures is not None or cost(tumors, fewer) < cost(tumors, found):
                found = fewer
                break
        else:
            break
    return found


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
    fit = _likelihoods(tumors, found.means).sum()
    return float(paid - fit + signature * _parameters(tumors, found).sum())


def _terms(tumors: Tumors, found: Extracted, prevalence: Floats) -> Floats:
    """Return each tumor's minus log-likelihood and the prices of its exposures."""
    paid = (prices(tumors.counts, prevalence) * (found.exposures > 0)).sum(axis=1)
    return np.asarray(paid - _likelihoods(tumors, found.means))


def _parameters(tumors: Tumors, found: Extracted) -> Floats:
    """Return what each signature costs: ½ log(1 + information / d²), summed over d channels.

    Laplace's approximation with a prior as wide as the mean entry, 1 / d. So a channel that the
    signature's users tell nothing about is free. With a prior as wide as the entry itself, entries
    near zero would be free too, and fitting them would raise the cost.
    """
    weights = tumors.weights(found.means)
    information = ((found.exposures**2).T @ weights) / weights.shape[1] ** 2
    return np.asarray(0.5 * np.log1p(information).sum(axis=1))


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


def _costs_without(tumors: Tumors, found: Extracted) -> Floats:
    """Return how much the cost rises without each of the signatures; negative: superfluous."""
    terms = _terms(tumors, found, found.prevalence)
    costs = -_parameters(tumors, found)
    for j in range(len(costs)):
        users = found.exposures[:, j] > 0
        part = tumors._replace(counts=tumors.counts[users])
        rest, shares = np.delete(found.signatures, j, axis=0), np.delete(found.prevalence, j)
        others = np.delete(found.exposures[users], j, axis=1)
        without = Extracted(rest, exposures_of(part, rest, shares, others))
        costs[j] += (_terms(part, without, shares) - terms[users]).sum()
    return costs


def _likelihoods(tumors: Tumors, means: Floats) -> Floats:
    counts, a = tumors
    rest = (counts + 1 / a) * np.log1p(a * means) if a > 0 else means
    return np.asarray((counts * np.log(np.maximum(means, 1e-300)) - rest).sum(axis=1))
