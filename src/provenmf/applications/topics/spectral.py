"""Topics from word counts: eigenpairs, points of words, anchors, vertices, probabilities.

The model: every word of a document is drawn by itself, a topic from the document's weights, then
a word from the topic. Arora et al. 2013 find anchor words by the words' co-occurrence; Ke & Wang
2022 (Topic-SCORE) and Bing, Bunea & Wegkamp 2020 show that no method can have an error in L1 below
√(words / (documents × length)) up to a constant and logarithms, and that methods of this kind reach
it where every topic has anchor words. Their theorems are about their own steps, not about ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.completion import held_out_likelihood
from provenmf.applications.topics.coordinates import topic_spectrum
from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.document_posterior import topic_shares_of_words, topics_of
from provenmf.applications.topics.one_step import assigned_shares
from provenmf.applications.topics.prior import dirichlet_prior, likeliest_prior
from provenmf.applications.topics.refinement import (
    documents_to_judge,
    refined_shares,
    shrunk_towards,
)
from provenmf.applications.topics.spectrum import WordSpectrum
from provenmf.applications.topics.word_points import WordPoints, points_without, word_points
from provenmf.applications.topics.word_vertices import anchors_by_spa, shares_at, vertices_at
from provenmf.methods.separable.vertices import Vertices, barycentric

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountTopics:
    """Topics with all that they were found from.

    Attributes
    ----------
    topics : array (k, n_words)
        p(word | topic); rows sum to one.
    frequencies : array (n_words,)
        p(word) over the whole corpus.
    prior : array (k,)
        Dirichlet parameters of the documents' weights.
    anchors : array of int (k,)
        Words found first; the vertices are means of words around them.
    vertices : Vertices
    unbounded : array (k, n_words)
        The topics as read off the points, before shares below zero are cut, whose spread shows
        how well they are known.
    refined : bool
        Whether the topics were refined by the documents' weights (see `refine`).
    shares : array (n_words, k)
        p(topic | word) for ranking words: by the points where words repeat (see `one_step`),
        otherwise that of the topics.
    """

    topics: Floats
    frequencies: Floats
    prior: Floats
    anchors: NDArray[np.intp]
    vertices: Vertices
    unbounded: Floats
    refined: bool
    shares: Floats


def topics_from_counts(matrix: Any, n_topics: int) -> CountTopics:
    """Topics of a corpus of counts (documents, words), with anchor words by SPA."""
    counts = WordCounts(matrix)
    spectrum = topic_spectrum(counts, n_topics)
    words = word_points(spectrum)
    return topics_at(counts, spectrum, words, anchors_by_spa(words))


def topics_at(
    counts: WordCounts,
    spectrum: WordSpectrum,
    words: WordPoints,
    anchors: NDArray[np.intp],
    *,
    refine: bool = True,
) -> CountTopics:
    """Topics whose vertices are averaged around the given anchor words, then refined."""
    vertices = vertices_at(words, anchors)
    frequencies = counts.frequencies
    shares = shares_at(words, vertices.points, frequencies)
    topics = topics_of(shares, frequencies)
    matrix, offset = barycentric(vertices.points)
    free = np.where(np.isinf(words.errors)[:, None], shares, words.points @ matrix + offset)
    unbounded = (free * frequencies[:, None]).T / np.maximum(
        frequencies @ shares, np.finfo(float).tiny
    )[:, None]
    prior = dirichlet_prior(spectrum, topics, vertices.points, frequencies @ shares)
    mixed = None
    if refine:
        variances = words.errors**2 * float((matrix**2).sum())
        start = CountTopics(topics, frequencies, prior, anchors, vertices, unbounded, False, shares)
        mixed = _refined(counts, spectrum, variances, start)
    if mixed is not None:
        topics = topics_of(mixed, frequencies)
    if refine:
        prior = likeliest_prior(counts, topics, prior, independent=not spectrum.capped)
    ranked = shares if mixed is None or spectrum.capped else mixed
    is_refined = mixed is not None
    return CountTopics(topics, frequencies, prior, anchors, vertices, unbounded, is_refined, ranked)


def _refined(
    counts: WordCounts,
    spectrum: WordSpectrum,
    variances: Floats,
    start: CountTopics,
) -> Floats | None:
    """Refined shares, or None where they do not make words of documents left out more likely."""
    judges = documents_to_judge(counts.shape[0])
    if len(judges) == 0 or len(start.topics) < 2:
        return None
    rivals = topic_shares_of_words(points_without(spectrum, judges), start.vertices.points)
    if spectrum.capped:
        step = partial(assigned_shares, counts, start.topics, start.prior)
        judged, final = step(judges), partial(step, judges[:0])
    else:
        refined = refined_shares(counts, start.topics, start.prior, start.frequencies, judges)
        shrink = partial(
            shrunk_towards, refined, variances=variances, frequencies=start.frequencies
        )
        judged, final = shrink(rivals), partial(shrink, start.shares)
    held_out = counts.take(judges)
    before, after = (
        held_out_likelihood(held_out, topics_of(found, start.frequencies), start.prior)
        for found in (rivals, judged)
    )
    return final() if after > before else None
