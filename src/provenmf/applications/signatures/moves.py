"""Moves of the search for signatures: what to add, to mix and to remove, by what it promises."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from provenmf.applications.signatures.model import (
    SETTINGS,
    Extracted,
    Floats,
    Tumors,
    exposures_of,
    parameters,
    prices,
    tumor_costs,
)


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


def costs_without(tumors: Tumors, found: Extracted) -> Floats:
    """Return how much the cost rises without each of the signatures; negative: superfluous."""
    before = tumor_costs(tumors, found, found.prevalence)
    costs = -parameters(tumors, found)
    for j in range(len(costs)):
        users = found.exposures[:, j] > 0
        part = tumors._replace(counts=tumors.counts[users])
        rest, shares = np.delete(found.signatures, j, axis=0), np.delete(found.prevalence, j)
        others = np.delete(found.exposures[users], j, axis=1)
        without = Extracted(rest, exposures_of(part, rest, shares, others))
        costs[j] += (tumor_costs(part, without, shares) - before[users]).sum()
    return costs
