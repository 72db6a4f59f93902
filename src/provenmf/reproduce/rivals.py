"""Baselines of the papers on real data: LDA by Gibbs sampling, SPOC, GeoNMF, k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.communities.embedding import embed
from provenmf.applications.communities.search import memberships_of
from provenmf.data import as_blocks
from provenmf.linalg.compiled import njit
from provenmf.linalg.norms import rows_to_sum_one, unit_rows
from provenmf.methods.separable.spa import spa
from provenmf.metrics.matching import clustering_accuracy


def k_means_accuracy(
    weights: NDArray[np.floating], classes: NDArray[np.integer], k: int, *, runs: int, seed: int
) -> float:
    """Compute the ClustAcc of k-means on unit-length rows, averaged over the runs."""
    from sklearn.cluster import KMeans

    rows = unit_rows(weights)
    scores = [
        clustering_accuracy(
            KMeans(k, n_init=10, random_state=seed + run).fit_predict(rows), classes
        )
        for run in range(runs)
    ]
    return float(np.mean(scores))


def gibbs_lda(
    counts: sp.csr_array, k: int, seed: int, *, sweeps: int = 300
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit LDA by collapsed Gibbs sampling (Griffiths & Steyvers 2004): topics and weights.

    With weak priors for documents and words, since their 50 / k for documents would outweigh the
    words of short ones where k is small; both factors are read off the last sweep.
    """
    alpha, beta = 0.1, 0.01
    entries = sp.coo_array(counts)
    repeats = entries.data.astype(np.intp)
    documents, words = np.repeat(entries.row, repeats), np.repeat(entries.col, repeats)
    by_document = np.zeros((counts.shape[0], k))
    by_word = np.zeros((counts.shape[1], k))
    _sample_topics_in_place(documents, words, by_document, by_word, alpha, beta, sweeps, seed)
    return by_word.T + beta, by_document + alpha


@njit(cache=True)
def _sample_topics_in_place(
    documents: NDArray[np.int32],
    words: NDArray[np.int32],
    by_document: NDArray[np.float64],
    by_word: NDArray[np.float64],
    alpha: float,
    beta: float,
    sweeps: int,
    seed: int,
) -> None:
    """Draw the topic of every token in turn from its distribution given all others."""
    np.random.seed(seed)
    k = by_word.shape[1]
    total = np.zeros(k)
    chances = np.empty(k)
    topic = np.random.randint(0, k, len(words))
    for token in range(len(words)):
        by_document[documents[token], topic[token]] += 1
        by_word[words[token], topic[token]] += 1
        total[topic[token]] += 1
    for _ in range(sweeps):
        for token in range(len(words)):
            document, word = by_document[documents[token]], by_word[words[token]]
            old = topic[token]
            document[old] -= 1
            word[old] -= 1
            total[old] -= 1
            mass = 0.0
            for t in range(k):
                share = (word[t] + beta) / (total[t] + beta * len(by_word))
                mass += (document[t] + alpha) * share
                chances[t] = mass
            new = np.searchsorted(chances, np.random.random() * mass)
            document[new] += 1
            word[new] += 1
            total[new] += 1
            topic[token] = new


def spoc(adjacency: Any, k: int) -> NDArray[np.float64]:
    """Return memberships by SPOC (Panov, Slavnov & Ushakov 2017): SPA on all rows of V.

    Memberships are raised to at least the machine epsilon before they are scaled.
    """
    vectors = embed(adjacency, k, energy=1.0).vectors
    corners = vectors[spa(as_blocks(vectors), k).anchors]
    found = np.linalg.lstsq(corners.T, vectors.T, rcond=None)[0].T
    return rows_to_sum_one(np.maximum(found, np.finfo(np.float64).eps))


def geo_nmf(adjacency: Any, k: int, *, spread: float = 0.75) -> NDArray[np.float64]:
    """Return memberships by GeoNMF (Mao, Sarkar & Chakrabarti 2017), Algorithms 1 and 2.

    Pure nodes are far apart among the rows of V E^(1/2), divided by the roots of the degrees, that
    are at least 1 − spread times as long as the longest.

    Differs: the paper splits the nodes at random and discards neighbors of a random pure node; here
    each next pure node is the one farthest from those chosen.
    """
    embedding = embed(adjacency, k)
    degrees = np.asarray(adjacency.sum(axis=1))[embedding.kept]
    rows = embedding.vectors[embedding.kept] * np.sqrt(np.abs(embedding.eigenvalues[:-1]))
    rows /= np.sqrt(degrees)[:, None]
    lengths = np.linalg.norm(rows, axis=1)
    long = np.flatnonzero(lengths >= (1 - spread) * lengths.max())
    chosen = [int(long[lengths[long].argmax()])]
    distance = np.full(len(long), np.inf)
    for _ in range(k - 1):
        distance = np.minimum(distance, ((rows[long] - rows[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(long[distance.argmax()]))
    return memberships_of(embedding.vectors, embedding.kept[chosen])[0]
