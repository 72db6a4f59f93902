"""Topics from word counts: eigenpairs, points of words, anchors, vertices, probabilities.

The model: every word of a document is drawn by itself, a topic from the document's weights, then
a word from the topic. Arora et al. 2013 find anchor words by the words' co-occurrence; Ke & Wang
2022 (Topic-SCORE) and Bing, Bunea & Wegkamp 2020 show that no method can have an error in L1 below
√(words / (documents × length)) up to a constant and logarithms, and that methods of this kind reach
it where every topic has anchor words. Their theorems are about their own steps, not about ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.blocks import as_blocks
from provenmf.solvers.separable.spa import spa
from provenmf.solvers.separable.vertices import Vertices, average_vertices, barycentric
from provenmf.solvers.topics.documents import dirichlet_prior, topic_shares_of_words, topics_of
from provenmf.solvers.topics.spectrum import WordSpectrum, word_spectrum
from provenmf.solvers.topics.words import (
    WordPoints,
    anchor_candidates,
    cautious_points,
    word_points,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountTopics:
    """Topics with all that they were found from.

    Attributes
    ----------
    topics : array (k, n_words)
        p(word | topic); rows sum to one.
    shares : array (n_words, k)
        p(topic | word); rows sum to one.
    frequencies : array (n_words,)
        p(word) over the whole corpus.
    prior : array (k,)
        Dirichlet parameters of the documents' weights.
    anchors : array of int (k,)
        Words found first; the vertices are means of words around them.
    vertices : Vertices
    unbounded : array (k, n_words)
        The topics before shares below zero are cut, whose spread shows how well they are known.
    """

    topics: Floats
    shares: Floats
    frequencies: Floats
    prior: Floats
    anchors: NDArray[np.intp]
    vertices: Vertices
    unbounded: Floats


def topics_from_counts(counts: sp.csr_array, n_topics: int) -> CountTopics:
    """Topics of a corpus of counts (documents, words), with anchor words by SPA."""
    spectrum = word_spectrum(counts, n_topics)
    words = word_points(spectrum)
    candidates = anchor_candidates(words)
    found = spa(as_blocks(cautious_points(words, candidates)), n_topics).anchors
    assert found is not None  # SPA always chooses rows
    return topics_at(counts, spectrum, words, candidates[found])


def topics_at(
    counts: sp.csr_array, spectrum: WordSpectrum, words: WordPoints, anchors: NDArray[np.intp]
) -> CountTopics:
    """Topics whose vertices are averaged around the given anchor words."""
    known = np.flatnonzero(np.isfinite(words.errors))
    places = np.searchsorted(known, anchors)
    # Contexts vary most along their vertex, so that the error there is larger than the mean error
    # of a coordinate: the inner width of 2.5 is about 1.5 of its own (docs/decisions.md).
    vertices = average_vertices(
        as_blocks(words.points[known]),
        places,
        words.errors[known],
        anchors_off=3.0,
        inner=2.5,
        max_rounds=20,
    )
    frequencies = np.asarray(counts.sum(axis=0), dtype=np.float64)
    frequencies /= max(float(frequencies.sum()), np.finfo(float).tiny)
    shares = topic_shares_of_words(words.points, vertices.points)
    # Words that never stand beside another one say nothing: they get the mean of the others.
    shares[np.isinf(words.errors)] = frequencies[known] @ shares[known] / frequencies[known].sum()
    topics = topics_of(shares, frequencies)
    matrix, offset = barycentric(vertices.points)
    free = np.where(np.isinf(words.errors)[:, None], shares, words.points @ matrix + offset)
    unbounded = (free * frequencies[:, None]).T / np.maximum(
        frequencies @ shares, np.finfo(float).tiny
    )[:, None]
    prior = dirichlet_prior(spectrum, topics, vertices.points, frequencies @ shares)
    return CountTopics(topics, shares, frequencies, prior, anchors, vertices, unbounded)
