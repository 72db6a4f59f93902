"""Topics from groups of documents, where the model of topics does not hold.

Anchor words are extreme points. In raw texts the most extreme words belong to signatures, tables,
quoted headers and families of near-duplicates, so that k anchors cover a few odd corners and one
topic is left with everything else. Groups of documents do not have this weakness.

A document is the row of its counts times D U in the notation of `cooccurrence`, scaled to length
one. The k leading coordinates may miss a subject and many coordinates hold noise, so k-means
(spherical, Dhillon & Modha 2001) groups documents in several numbers of coordinates between k and
4k, into k and into 4k groups. Two groupings into k sum these up: k-means on the indicators of the
coarse groups (cluster ensembles, Strehl & Ghosh 2002), which makes groups of similar size, and
average linkage on the share of the fine groups that two documents have in common (Fred & Jain
2005), which keeps a large subject together beside small ones. The one whose groups are better
separated (mean silhouette, Rousseeuw 1987) and agree better with the ensemble (mean normalized
mutual information, the objective of Strehl & Ghosh) is taken. Topics are the words of the groups
after a few steps of expectation and maximization, which also allow a document several topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import WordSpectrum
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import topics_of
from provenmf.applications.topics.refinement import UNSEEN, assigned_shares

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Settings:
    """Choices of the grouping, made on the corpora BUILD of benchmarks/peers/raw_texts.py.

    coordinates : how many of the coordinates beyond k each grouping uses, as shares.
    finer : groups of a fine grouping, for each topic; with 2, large subjects of TDT2 are divided.
    starts : random starts of a coarse grouping, and of their consensus.
    rounds : of k-means, at most; few documents move after ten.
    documents : grouped at most, drawn at random: linkage takes the square of their number.
    steps : of expectation and maximization. Three to ten make no difference for the documents'
        topics; thirty fit the noise.
    """

    coordinates: tuple[float, ...] = (0.0, 1 / 6, 1 / 3, 2 / 3, 1.0)
    finer: int = 4
    starts: int = 3
    consensus_starts: int = 10
    rounds: int = 30
    documents: int = 2000
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
    members = np.eye(k)[group(rows.astype(np.float32), k, rng)]
    sums = np.asarray((sample.T @ members).T) + UNSEEN
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def stepped(counts: WordCounts, topics: Floats, left_out: Labels | None = None) -> Floats:
    """Return p(topic | word) (n_words, k) after a few steps of expectation and maximization.

    left_out : documents that are not used.
    """
    prior = np.full(len(topics), 1.0 / len(topics))
    unused = np.empty(0, dtype=np.intp) if left_out is None else left_out
    for _ in range(SETTINGS.steps):
        shares = assigned_shares(counts, topics, prior, unused)
        topics = topics_of(shares, counts.frequencies)
    return shares


def group(rows: Singles, k: int, rng: np.random.Generator) -> Labels:
    """Return the group (n,) of each row (n, coordinates); see the module."""
    starts = SETTINGS.starts if k <= 30 else 1  # many groups are stable, and take long
    widths = sorted({k + round(share * (rows.shape[1] - k)) for share in SETTINGS.coordinates})
    parts = [unit_rows(rows[:, :width]) for width in widths]
    coarse = [k_means(part, k, starts, rng) for part in parts]
    fine = [k_means(part, min(SETTINGS.finer * k, len(rows)), 1, rng) for part in parts * 2]
    indicators = np.hstack([np.eye(k, dtype=np.float32)[labels] for labels in coarse])
    found = [k_means(indicators, k, SETTINGS.consensus_starts, rng), linked(fine, k)]
    scores = [
        silhouette(parts[-1], labels)
        * np.mean([mutual_information(labels, o) for o in coarse + fine])
        for labels in found
    ]
    return found[int(np.argmax(scores))]


def linked(groupings: Sequence[Labels], k: int) -> Labels:
    """Return k groups by average linkage on the share of groupings that separate two rows."""
    from scipy.cluster.hierarchy import average
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import squareform

    members = np.hstack([np.eye(int(g.max()) + 1, dtype=np.float32)[g] for g in groupings])
    apart = 1.0 - members @ members.T / len(groupings)
    n = len(members)
    merges = average(squareform(apart, checks=False))[: n - k, :2].astype(np.intp)
    joined = np.repeat(np.arange(n, n + len(merges)), 2)
    size = n + len(merges)
    tree = sp.coo_array((np.ones(joined.size), (joined, merges.ravel())), shape=(size, size))
    return np.asarray(connected_components(tree, directed=False)[1][:n], dtype=np.intp)


def silhouette(rows: Singles, labels: Labels) -> float:
    """Return the mean silhouette of groups of unit rows, by cosine distance."""
    sizes = np.bincount(labels)
    sums = np.eye(len(sizes), dtype=np.float32)[labels].T @ rows
    own = np.arange(len(rows)), labels
    products = rows @ sums.T
    products[own] -= np.einsum("ij,ij->i", rows, rows)
    others = np.broadcast_to(sizes, products.shape).copy()
    others[own] -= 1
    distances = 1.0 - products / np.maximum(others, 1)
    within = distances[own]
    distances[own] = np.inf
    nearest = distances.min(axis=1)
    scores = (nearest - within) / np.maximum(np.maximum(nearest, within), 1e-12)
    return float(np.where(sizes[labels] > 1, scores, 0.0).mean())


def mutual_information(first: Labels, second: Labels) -> float:
    """Return the mutual information of two groupings over the mean of their entropies."""
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1.0 / len(first))

    def entropy(shares: Floats) -> float:
        positive = shares[shares > 0]
        return float(-(positive * np.log(positive)).sum())

    alone = entropy(table.sum(axis=0)) + entropy(table.sum(axis=1))
    return 2.0 * (alone - entropy(table)) / alone if alone > 0 else 0.0


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
