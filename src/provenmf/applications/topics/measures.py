"""Coherence of topics, their top words, and documents that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import topics_of
from provenmf.io.texts import TextFile
from provenmf.linalg.storage import Matrix
from provenmf.metrics.topics import coherences, relevance, top_words
from provenmf.results.answers import shares

N_TOP_WORDS = 20
N_EXAMPLES = 3
SNIPPET = 400
FAINT = 0.01  # of the weight of a topic's largest word; a word with less is not listed
NEGLIGIBLE = 0.1  # of the weight of a topic's 20th largest word
# The parameter of relevance where the documents with each word are known (docs/decisions.md).
MIX = 0.1


def measured(
    topics: NDArray[np.float64],
    frequency: NDArray[np.float64],
    word_shares: NDArray[np.floating] | None,
    weights: NDArray[np.float64],
    counts: WordCounts,
    texts: Sequence[str] | TextFile | None,
) -> dict[str, Any]:
    """Compute quality measures and example documents of topics, as fields of `Topics`."""
    documents = counts.documents
    best = top_columns_of(topics, N_TOP_WORDS, frequency, documents, shares(weights), word_shares)
    examples = _example_documents(weights, counts.lengths)
    return {
        **coherences(best, counts.blocks),
        "word_documents": documents,
        "word_shares": word_shares,
        "example_documents": examples,
        "example_texts": _example_texts(texts, examples),
    }


def top_columns_of(
    topics: NDArray[np.float64],
    n_words: int,
    frequency: NDArray[np.float64],
    documents: NDArray[np.integer],
    topic_shares: NDArray[np.float64],
    word_shares: NDArray[np.floating] | None,
) -> NDArray[np.intp]:
    """Return the columns of each topic's top words (k, n_words).

    Words are ranked by relevance. A word needs
    a tenth of the weight of the topic's 20th largest word: relevance alone lists words
    that are typical of a topic but hardly occur in it.

    documents, word_shares : see `Topics`; topic_shares : of the whole corpus.
    """
    if word_shares is None:
        joint = topics * topic_shares[:, None]
        by_topic = joint / np.maximum(joint.sum(axis=0), np.finfo(float).tiny)  # p(topic | word)
        probable = topics
    else:
        by_topic = word_shares.astype(np.float64)
        probable = topics_of(by_topic.T, frequency)
    found = relevance(probable, frequency, mix=MIX, documents=by_topic * documents)
    place = max(0, topics.shape[1] - max(n_words, N_TOP_WORDS))
    least = NEGLIGIBLE * np.partition(topics, place, axis=1)[:, place]
    return top_words(np.where(topics >= least[:, None], found, -np.inf), n_words)


def pooled_shares(
    by_points: NDArray[np.float64], weights: NDArray[np.float64], counts: WordCounts
) -> NDArray[np.float32]:
    """Score each word as an indicator of each topic (k, words), by its point and its documents.

    The geometric mean of p(topic | word) as the points have it (words, k), and of the mean weight
    of the topic in the documents that have the word. A word at a vertex need not be in documents
    about the topic, and a word of such documents need not be of the topic: both are asked for.
    """
    sums = counts.blocks.map_reduce(weights_beside_words, weights)
    by_documents = sums / np.maximum(counts.documents, 1)[:, None]
    return np.asarray(np.sqrt(by_points * by_documents).T, dtype=np.float32)


def weights_beside_words(block: Matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the topic weights of the documents that contain each word (words, k)."""
    there = sp.csr_array(block != 0, dtype=np.float64)
    return np.asarray(there.T @ weights)


def _example_documents(
    weights: NDArray[np.float64], lengths: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Select the most representative documents of each topic, padded with −1.

    Weight times n / (n + median n) for a document of n words: hundreds of short documents have a
    weight of one, and what a few words say is uncertain.
    """
    typical = float(np.median(lengths)) or 1.0
    certain = lengths / (lengths + typical)
    found = np.full((weights.shape[1], min(N_EXAMPLES, len(weights))), -1, dtype=np.intp)
    for examples, weight in zip(found, weights.T):  # a topic at a time: documents may be millions
        score = weight * certain
        least = np.partition(score, -len(examples))[-len(examples)]
        near = np.flatnonzero((score >= least) & (weight > 0))
        best = near[np.argsort(-score[near], kind="stable")][: len(examples)]
        examples[: len(best)] = best
    return found


def _example_texts(
    known: Sequence[str] | TextFile | None, examples: NDArray[np.intp]
) -> NDArray[np.str_] | None:
    """Return the first characters of the example documents, or None if texts are unknown."""
    if known is None:
        return None
    places = examples[examples >= 0].tolist()
    texts = known.at(places) if isinstance(known, TextFile) else {i: known[i] for i in places}
    shown = [[texts.get(i, "")[:SNIPPET] for i in row] for row in examples]
    return np.array(shown, dtype=np.str_)
