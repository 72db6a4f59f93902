"""Group documents by subject: the start of topics where anchor words mislead.

Anchor words are extreme points. In raw texts the most extreme words belong to signatures, tables,
quoted headers and families of near-duplicates, so that k anchors cover a few odd corners and one
topic is left with everything else. Groups of documents do not have this weakness.

A document is the row of its counts times D U in the notation of `cooccurrence`, scaled to length
one, and k-means finds k groups of rows (spherical k-means, Dhillon & Modha 2001). The k leading
coordinates may miss a subject and many coordinates hold noise, so documents are grouped in several
numbers of coordinates between k and 4k. The final groups are the consensus of these groupings:
k-means on the indicators of membership (cluster ensembles, Strehl & Ghosh 2002). Topics are the
words of the groups after a few steps of expectation and maximization, which also allow a document
several topics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import WordSpectrum
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import topics_of
from provenmf.applications.topics.refinement import UNSEEN, assigned_shares

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """Choices of the grouping; all were made on the corpora "to build on" of raw_texts.py.

    coordinates : how many of the coordinates beyond k each grouping uses, as shares.
    starts : random starts of k-means in each, and of the consensus.
    rounds : of k-means, at most; few documents move after ten.
    documents : grouped at most, drawn at random; groups of a sample start topics just as well.
    steps : of expectation and maximization. Three to ten make no difference for the documents'
        topics; thirty fit the noise.
    """

    coordinates: tuple[float, ...] = (0.0, 1 / 6, 1 / 3, 2 / 3, 1.0)
    starts: int = 3
    consensus_starts: int = 10
    rounds: int = 30
    documents: int = 10_000
    steps: int = 3


SETTINGS = Settings()


def topics_of_groups(spectrum: WordSpectrum, k: int) -> Floats:
    """Return topics (k, n_words) from k groups of documents: the words of each group.

    Parameters
    ----------
    spectrum : WordSpectrum
        More coordinates than k (see `word_spectrum`).
    k : int
        Number of groups.
    """
    counts, rng = spectrum.pairs.counts, np.random.default_rng(6)
    used = np.flatnonzero(counts.lengths)
    if len(used) > SETTINGS.documents:
        used = np.sort(rng.choice(used, SETTINGS.documents, replace=False))
    sample = counts.take(used)
    rows = np.asarray(sample @ (spectrum.pairs.scales[:, None] * spectrum.vectors))
    labels = consensus(rows.astype(np.float32), k, rng)
    members = np.eye(k)[labels]
    sums = np.asarray((sample.T @ members).T) + UNSEEN
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def stepped(
    counts: WordCounts,
    topics: Floats,
    left_out: NDArray[np.intp] | None = None,
    *,
    steps: int = SETTINGS.steps,
) -> Floats:
    """Return p(topic | word) (n_words, k) after steps of expectation and maximization.

    left_out : documents that are not used.
    """
    prior = np.full(len(topics), 1.0 / len(topics))
    unused = np.empty(0, dtype=np.intp) if left_out is None else left_out
    for _ in range(steps):
        shares = assigned_shares(counts, topics, prior, unused)
        topics = topics_of(shares, counts.frequencies)
    return shares


def consensus(rows: Singles, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the group (n,) of each row (n, coordinates) that groupings in parts of them share."""
    starts = SETTINGS.starts if k <= 30 else 1  # many groups are stable, and take long
    widths = [k + round(share * (rows.shape[1] - k)) for share in SETTINGS.coordinates]
    found = [k_means(unit_rows(rows[:, :width]), k, starts, rng) for width in sorted(set(widths))]
    indicators = np.hstack([np.eye(k, dtype=np.float32)[labels] for labels in found])
    return k_means(indicators, k, SETTINGS.consensus_starts, rng)


def k_means(rows: Singles, k: int, starts: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the groups of the best of some random starts."""
    runs = [_lloyd(rows, _spread_rows(rows, k, rng)) for _ in range(starts)]
    return min(runs, key=lambda run: run[1])[0]


def _spread_rows(rows: Singles, k: int, rng: np.random.Generator) -> Singles:
    """Choose k rows far apart: k-means++ with a few trials a step (Arthur & Vassilvitskii 2007)."""
    sizes = (rows**2).sum(axis=1)
    centres = [rows[rng.integers(len(rows))]]
    distances = np.maximum(sizes - 2 * rows @ centres[0] + centres[0] @ centres[0], 0.0)
    for _ in range(k - 1):
        total = float(distances.sum(dtype=np.float64))
        chances = distances / total if total > 0 else np.full(len(rows), 1.0 / len(rows))
        drawn = np.searchsorted(
            np.cumsum(chances, dtype=np.float64), rng.random(2 + int(np.log(k)))
        )
        tried = rows[np.minimum(drawn, len(rows) - 1)]
        apart = sizes - 2 * tried @ rows.T + (tried**2).sum(axis=1)[:, None]
        left = np.minimum(distances, np.maximum(apart, 0.0))
        best = int(left.sum(axis=1).argmin())
        centres.append(tried[best])
        distances = left[best]
    return np.array(centres)


def _lloyd(rows: Singles, centres: Singles) -> tuple[NDArray[np.intp], float]:
    """Return groups and their sum of squares, up to a constant."""
    labels, k = np.full(len(rows), -1), len(centres)
    for _ in range(SETTINGS.rounds):
        gains = 2 * rows @ centres.T - (centres**2).sum(axis=1)
        before, labels = labels, gains.argmax(axis=1)
        empty = np.setdiff1d(np.arange(k), labels)
        if len(empty):  # a group without rows takes those that fit worst elsewhere
            labels[np.argsort(gains.max(axis=1), kind="stable")[: len(empty)]] = empty
        if np.array_equal(before, labels):
            break
        members = np.eye(k, dtype=np.float32)[labels]
        centres = (members.T @ rows) / np.maximum(members.sum(axis=0), 1.0)[:, None]
    return labels, -float(gains[np.arange(len(rows)), labels].sum(dtype=np.float64))


def unit_rows(rows: Singles) -> Singles:
    """Return rows of length one; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.finfo(np.float32).tiny))
