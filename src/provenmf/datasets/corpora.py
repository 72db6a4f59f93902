"""Corpora drawn from topic models, with the topics and weights behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import generator
from provenmf.errors import InvalidInput

Floats = NDArray[np.float64]

BLOCK_DOCUMENTS = 20_000
ANCHOR_PROBABILITY = 0.004


@dataclass(frozen=True, eq=False)
class TopicCorpus:
    """Word counts with the truth behind them.

    Attributes
    ----------
    counts : csr_array (n_documents, n_words)
        How often each word occurs in each document.
    topics : array (n_topics, n_words)
        p(word | topic); rows sum to one.
    weights : array (n_documents, n_topics)
        Share of each topic in each document; rows sum to one.
    anchor_words : array (n_topics, anchors_per_topic)
        Words that occur in one topic only.
    """

    counts: sp.csr_array
    topics: Floats
    weights: Floats
    anchor_words: NDArray[np.intp]


def topic_corpus(
    n_documents: int = 1000,
    n_words: int = 1000,
    n_topics: int = 5,
    *,
    words_per_document: float = 80.0,
    concentration: float = 0.1,
    anchors_per_topic: int = 3,
    word_concentration: float = 0.1,
    zipf: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> TopicCorpus:
    """Draw a corpus from latent Dirichlet allocation (Blei, Ng & Jordan 2003).

    The model, for each document on its own:

    1. the length is 2 + Poisson(``words_per_document`` − 2);
    2. the topic weights are Dirichlet(``concentration``, …);
    3. every word is drawn by itself: a topic from the weights, then a word from the topic.

    Each topic has ``anchors_per_topic`` words of probability 0.004 that no other topic has. The
    rest of its probability is spread over the other words by a Dirichlet distribution with
    parameters ``word_concentration`` · b, where b has mean one and falls like
    1 / (rank + 10) ** ``zipf`` over the words.

    Parameters
    ----------
    n_documents, n_words, n_topics : int
        Sizes of the corpus.
    words_per_document : float, default 80
        Mean length of a document, at least 2.
    concentration : float, default 0.1
        Parameter of the Dirichlet distribution of weights; small means few topics a document.
    anchors_per_topic : int, default 3
        Words that occur in one topic only; 0 for none.
    word_concentration : float, default 0.1
        Of the Dirichlet distribution over the other words; small means topics that share little.
    zipf : float, default 0
        How unequal the words' overall frequencies are; 1 is like natural language.
    random_state : int, Generator or None
        Seed of the draw.

    Returns
    -------
    TopicCorpus
        Counts as a sparse array, and the truth. Memory is that of the counts and the weights,
        plus one block of 20 000 documents.

    Examples
    --------
    >>> from provenmf.datasets.corpora import topic_corpus
    >>> corpus = topic_corpus(200, 300, 4, random_state=0)
    >>> corpus.counts.shape, corpus.topics.shape, corpus.anchor_words.shape
    ((200, 300), (4, 300), (4, 3))
    """
    if n_topics < 1 or n_words <= n_topics * anchors_per_topic:
        raise InvalidInput(
            f"n_words={n_words} must exceed n_topics * anchors_per_topic = "
            f"{n_topics * anchors_per_topic}, and n_topics={n_topics} must be at least 1"
        )
    if words_per_document < 2:
        raise InvalidInput(f"words_per_document={words_per_document} must be at least 2")
    rng = generator(random_state)
    anchors = rng.permutation(n_words)[: n_topics * anchors_per_topic]
    anchors = anchors.reshape(n_topics, anchors_per_topic)
    topics = _draw_topics(rng, n_words, anchors, word_concentration, zipf)
    weights = rng.dirichlet(np.full(n_topics, concentration), n_documents)
    counts = _draw_documents(rng, topics, weights, words_per_document)
    return TopicCorpus(counts, topics, weights, anchors)


def _draw_documents(
    rng: np.random.Generator, topics: Floats, weights: Floats, words_per_document: float
) -> sp.csr_array:
    """Draw the counts of a document for each row of weights, block by block."""
    lengths = 2 + rng.poisson(words_per_document - 2, len(weights))
    blocks = [
        _draw_words(rng, topics, weights[start : start + BLOCK_DOCUMENTS], block)
        for start in range(0, len(weights), BLOCK_DOCUMENTS)
        if len(block := lengths[start : start + BLOCK_DOCUMENTS])
    ]
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def _draw_topics(
    rng: np.random.Generator,
    n_words: int,
    anchors: NDArray[np.intp],
    word_concentration: float,
    zipf: float,
) -> Floats:
    """Draw rows p(word | topic) with the exclusive words in place."""
    n_topics = len(anchors)
    shared = np.setdiff1d(np.arange(n_words), anchors)
    popularity = 1.0 / (rng.permutation(len(shared)) + 10.0) ** zipf
    shapes = word_concentration * popularity / popularity.mean()
    topics = np.zeros((n_topics, n_words))
    drawn = rng.standard_gamma(shapes, (n_topics, len(shared))) + np.finfo(float).tiny
    topics[:, shared] = drawn / drawn.sum(axis=1, keepdims=True)
    topics *= 1.0 - anchors.shape[1] * ANCHOR_PROBABILITY
    topics[np.arange(n_topics)[:, None], anchors] = ANCHOR_PROBABILITY
    return topics


def _draw_words(
    rng: np.random.Generator, topics: Floats, weights: Floats, lengths: NDArray[np.integer]
) -> sp.csr_array:
    """Draw how many words of each topic a document has, then which."""
    n_words = topics.shape[1]
    of_topic = rng.multinomial(lengths, weights)
    documents, words = [], []
    for topic, row in enumerate(topics):
        number = of_topic[:, topic]
        cumulative = np.cumsum(row)
        drawn = rng.random(int(number.sum())) * cumulative[-1]
        words.append(np.searchsorted(cumulative, drawn, side="right").astype(np.int32))
        documents.append(np.repeat(np.arange(len(number), dtype=np.int32), number))
    places = np.concatenate(documents), np.concatenate(words)
    ones = np.ones(len(places[0]))
    return sp.csr_array(sp.coo_array((ones, places), shape=(len(lengths), n_words)))
