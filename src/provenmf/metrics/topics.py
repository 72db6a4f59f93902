"""Measures of topics: coherence, shared words, and distance to true topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import Matrix
from provenmf.metrics.matching import best_assignment

# What c_v adds to the probability of a pair, so that pairs that never occur have a score.
CV_SMOOTHING = 1e-12


def top_words(topics: ArrayLike, n_words: int = 20) -> NDArray[np.intp]:
    """Return the columns of each topic's largest entries (k, words), descending; ties by column."""
    matrix = np.asarray(topics)
    if n_words < 1:
        raise InvalidInput(f"n_words={n_words} must be at least 1")
    return np.argsort(-matrix, axis=1, kind="stable")[:, :n_words]


def relevance(
    topics: ArrayLike,
    frequency: ArrayLike,
    *,
    mix: float = 0.3,
    documents: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Compute the relevance of words to topics: λ log p(w | t) + (1 − λ) log(p(w | t) / p(w)).

    Ranked by probability alone, words that are frequent everywhere crowd the list; ranked by the
    ratio alone, rare words do (Sievert & Shirley 2014). A word seen in a few documents may be there
    by chance: where the number n of documents is known, two standard errors of log p(w | t), 2/√n,
    are taken off.

    Parameters
    ----------
    topics : array (k, words)
        p(word | topic).
    frequency : array (words,)
        p(word) over the whole corpus.
    mix : float, default 0.3
        λ, between 0 and 1.
    documents : array (k, words), optional
        In how many documents each topic has each word.

    Returns
    -------
    array (k, words)
        Minus infinity where a topic does not have the word.

    Examples
    --------
    >>> from provenmf.metrics.topics import relevance
    >>> relevance([[0.6, 0.4]], [0.9, 0.1], mix=0.0).argmax()
    np.int64(1)
    """
    probability, overall = np.asarray(topics, dtype=float), np.asarray(frequency, dtype=float)
    if not 0 <= mix <= 1:
        raise InvalidInput(f"mix={mix} must lie between 0 and 1")
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.log(probability) - (1.0 - mix) * np.log(overall)
        if documents is not None:
            scores = scores - 2.0 / np.sqrt(np.asarray(documents, dtype=float))
    return np.where(probability > 0, scores, -np.inf)


def topic_coherence(
    words: ArrayLike, counts: object, *, smoothing: float = 0.01
) -> NDArray[np.float64]:
    """Compute the coherence of each topic (Mimno et al. 2011; Nguyen22, V-B); higher is better.

    For the top words v_1, v_2, … of a topic, Σ_{i ≥ 2} Σ_{j < i} log((D(v_i, v_j) + ε)/D(v_j)),
    where D counts the documents that contain the word or both words.

    Parameters
    ----------
    words : (k, m) columns of each topic's top words, most frequent first.
    counts : (documents, words); an entry that is not zero means that the word occurs.
    smoothing : ε.
    """
    together, position, _ = _documents_with_both(words, counts)
    logarithms = np.log((together + smoothing) / np.diagonal(together)[None, :])
    later, earlier = np.tril_indices(position.shape[1], k=-1)
    return np.asarray(logarithms[position[:, later], position[:, earlier]].sum(axis=1))


def npmi_coherence(words: ArrayLike, counts: Any) -> NDArray[np.float64]:
    """Compute the normalized pointwise mutual information of top words by topic, from -1 to 1.

    The mean over pairs of words of log(p(v, w) / (p(v) p(w))) / -log p(v, w), where p is the share
    of documents that contain the word or both (Bouma 2009; Lau, Newman & Baldwin 2014). Pairs that
    never occur together count -1, pairs that occur in all documents 1.

    Parameters
    ----------
    words : array of int (k, m)
        Columns of each topic's top words.
    counts : array or sparse (documents, words)
        An entry that is not zero means that the word occurs.

    Examples
    --------
    >>> from provenmf.metrics.topics import npmi_coherence
    >>> npmi_coherence([[0, 1], [0, 2]], [[1, 1, 0], [2, 1, 0], [0, 0, 3]]).round(6).tolist()
    [1.0, -1.0]
    """
    return coherences(words, counts)["npmi"]


def coherences(words: ArrayLike, counts: Any) -> dict[str, NDArray[np.float64]]:
    """Return `npmi_coherence` as "npmi" and c_v as "cv", in one pass over the counts.

    c_v (Röder, Both & Hinneburg 2015) is from 0 to 1: each top word is described by its normalised
    pointwise mutual information with all top words of the topic, and the score is the mean cosine
    between a word's description and the sum of all. Each document is one window; given the same
    windows gensim's "c_v" is the same to 1e-12.
    """
    together, position, total = _documents_with_both(words, counts)
    both = together / total
    alone = np.diagonal(both)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.log(both / np.outer(alone, alone)) / -np.log(both)
    scores = np.where(both == 0, -1.0, np.where(both == 1, 1.0, scores))
    first, second = np.triu_indices(position.shape[1], k=1)
    pairs = scores[position[:, first], position[:, second]]
    npmi = pairs.mean(axis=1) if len(first) else np.full(len(pairs), np.nan)  # of a single word
    smoothed = both + CV_SMOOTHING
    scores = np.log(smoothed / np.outer(alone, alone)) / -np.log(smoothed)
    scores = np.where(both == 1, 1.0, scores)
    own = scores[position[:, :, None], position[:, None, :]]
    whole = own.sum(axis=1, keepdims=True)
    lengths = np.linalg.norm(own, axis=2) * np.linalg.norm(whole, axis=2)
    return {"npmi": npmi, "cv": ((own * whole).sum(axis=2) / lengths).mean(axis=1)}


def _documents_with_both(
    words: ArrayLike, counts: Any
) -> tuple[NDArray[np.float64], NDArray[np.intp], int]:
    """Count the documents that contain both of two used words; counts may be blocks.

    Returned with where each given word is among the used ones, and the number of documents.
    """
    chosen = np.asarray(words)
    used, position = np.unique(chosen, return_inverse=True)
    blocks = as_blocks(counts)
    together = blocks.map_reduce(partial(_with_both, used)).toarray()
    missing = used[np.diagonal(together) == 0]
    if len(missing):
        raise InvalidInput(f"word {missing[0]} occurs in no document: leave such words out")
    return together, position.reshape(chosen.shape), blocks.n_rows


def _with_both(used: NDArray[np.intp], block: Matrix) -> sp.csr_array:
    occurs = (sp.csr_array(block)[:, used] != 0).astype(np.float64)
    return sp.csr_array(occurs.T @ occurs)


def similarity_count(words: Iterable[NDArray[np.integer]]) -> int:
    """Count the top words shared by two topics, summed over all pairs; lower is better."""
    uses = np.unique(np.concatenate([np.unique(row) for row in words]), return_counts=True)[1]
    return int((uses * (uses - 1) // 2).sum())


@dataclass(frozen=True, eq=False)
class TopicMatch:
    """Pairs of found and true topics.

    Attributes
    ----------
    true_rows, found_rows : array of int
        Matched pairs, true rows ascending.
    distances : array (true topics,)
        L1 distance of each true topic to its match, from 0 to 2; 2 where it has none.
    """

    true_rows: NDArray[np.intp]
    found_rows: NDArray[np.intp]
    distances: NDArray[np.float64]

    @property
    def mean_distance(self) -> float:
        """Mean over the true topics."""
        return float(self.distances.mean())

    def weight_distance(self, found: ArrayLike, truth: ArrayLike) -> float:
        """Compute the mean L1 distance of documents' weights of matched topics; 0 best, 2 worst."""
        true_weights, weights = np.asarray(truth), np.asarray(found)
        difference = np.abs(true_weights[:, self.true_rows] - weights[:, self.found_rows]).sum()
        left_over = np.delete(true_weights, self.true_rows, axis=1).sum()
        spare = np.delete(weights, self.found_rows, axis=1).sum()
        return float((difference + left_over + spare) / len(true_weights))


def match_topics(found: ArrayLike, truth: ArrayLike) -> TopicMatch:
    """Match topics one to one so that the sum of their L1 distances is least.

    Parameters
    ----------
    found, truth : array (topics, words)
        p(word | topic) over the same words; rows sum to one.

    Examples
    --------
    >>> from provenmf.metrics.topics import match_topics
    >>> match_topics([[0.0, 1.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]).mean_distance
    0.5
    """
    true_topics, topics = np.asarray(truth, dtype=float), np.asarray(found, dtype=float)
    if true_topics.ndim != 2 or topics.ndim != 2 or true_topics.shape[1] != topics.shape[1]:
        raise InvalidInput(
            f"topics of shapes {topics.shape} and {true_topics.shape} cannot be matched: "
            "both need one topic a row and the same words"
        )
    table = np.array([np.abs(topics - row).sum(axis=1) for row in true_topics])
    rows, columns = best_assignment(-table)
    distances = np.full(len(true_topics), 2.0)
    distances[rows] = table[rows, columns]
    return TopicMatch(rows, columns, distances)
