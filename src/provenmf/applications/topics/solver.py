"""Topics from counts: spectrum, points of words, anchors, vertices, probabilities.

The model: every word of a document is drawn independently, a topic from the document's weights,
then a word from the topic. Arora et al. 2013 find anchor words by the words' co-occurrence; Ke &
Wang 2022 (Topic-SCORE) and Bing, Bunea & Wegkamp 2020 show that no method can have an L1 error
below √(words / (documents × length)) up to a constant and logarithms, and that methods of this kind
reach it where every topic has anchor words. Their theorems are about their own steps, not ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import (
    EXTRA,
    MOST_REPEATS,
    MOST_TOPICS,
    WordSpectrum,
    noise_edge,
    number_of_topics,
    word_spectrum,
)
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import (
    dirichlet_prior,
    held_out_likelihood,
    likeliest_prior,
    topic_shares_of_words,
    topics_of,
)
from provenmf.applications.topics.points import (
    WordPoints,
    anchor_candidates,
    anchors_by_spa,
    cautious_points,
    points_without,
    shares_at,
    topic_spectrum,
    vertices_at,
    word_points,
)
from provenmf.applications.topics.refinement import (
    FOLDS,
    assigned_shares,
    documents_to_judge,
    refined_shares,
    shrunk_towards,
)
from provenmf.applications.topics.tf_idf import turn_to_diagonal
from provenmf.budget import available_threads, block_bytes, room_for_parts
from provenmf.data.disk import BLOCK_BYTES, PART_BYTES
from provenmf.errors import InvalidInput, counted
from provenmf.methods.memory import check_budget
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


GAP = 1.1  # by which the last topic's eigenvalue exceeds the next where topics stand out
MOST_REDRAWN = 5_000_000  # entries of counts, beyond which no words are drawn at random
# What is held in memory at once: arrays as large as the eigenvectors, numbers for each document.
WORD_VECTORS, DOCUMENT_NUMBERS = 14, 12


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Candidate words as points in k coordinates, moved in by their noise; where they come from."""

    points: NDArray[np.float64]
    candidates: NDArray[np.intp]
    spectrum: WordSpectrum
    words: WordPoints


def count_problem(
    counts: WordCounts, n_topics: int, min_anchor_documents: int | None = None
) -> CountProblem:
    """The matrix that separable NMF works on."""
    check_topic_memory(counts, n_topics)
    spectrum = topic_spectrum(counts, n_topics)
    words = word_points(spectrum)
    if not np.isfinite(words.errors).any() and not counts.whole:
        raise InvalidInput(
            "documents has fractions that sum to at most one in every document: shares do not say "
            "how many words a document has; give word counts"
        )
    if not np.isfinite(words.errors).any():
        raise InvalidInput(
            "no document has two counted words, so it is unknown which words occur "
            "together; use longer documents, or ignore fewer words (--max-share, "
            "--min-documents)"
        )
    if min_anchor_documents is None:
        candidates = anchor_candidates(words)
    else:
        often = counts.documents >= min_anchor_documents
        candidates = np.flatnonzero(often & np.isfinite(words.errors))
    if len(candidates) < n_topics:
        raise InvalidInput(
            f"only {counted(len(candidates), 'word')} can become anchors of n_topics={n_topics} "
            "topics: ask for fewer topics or lower min_anchor_documents"
        )
    points = cautious_points(words, candidates)
    # All points lie near one plane; its normal becomes the diagonal, so that coordinates sum to
    # nearly the same number, which is what XRAY divides by.
    normal = np.linalg.lstsq(points, np.ones(len(points)), rcond=None)[0].astype(np.float64)
    if np.any(normal):
        points = points @ turn_to_diagonal(normal)
    return CountProblem(points, candidates, spectrum, words)


def check_topic_memory(counts: WordCounts, n_topics: int) -> None:
    """Refuse topics that exceed the budget: weights of documents, and vectors over the words."""
    n_documents, n_words = counts.shape
    by_document = 8.0 * n_documents * (n_topics + DOCUMENT_NUMBERS)
    by_word = 8.0 * n_words * (n_topics + EXTRA) * (WORD_VECTORS + available_threads())
    parts = min(4.0 * FOLDS * n_documents * n_topics, room_for_parts(PART_BYTES))
    check_budget(
        f"find_topics needs for {n_documents} documents, {n_words} words and {n_topics} topics",
        by_document + by_word + parts,
        16.0 * block_bytes(BLOCK_BYTES),
        16.0 * BLOCK_BYTES,
    )


@dataclass(frozen=True, eq=False)
class NumberFound:
    """The number of topics that the spectrum shows."""

    number: int
    eigenvalues: NDArray[np.float64]
    noise_edge: float

    def note(self) -> str:
        """How the number was found, in words."""
        values = self.eigenvalues
        above = int(np.count_nonzero(values > self.noise_edge))
        more = " or more" if above == len(values) else ""
        return (
            f"number of topics chosen automatically: {self.number}; "
            f"{counted(above, 'eigenvalue')}{more} of the co-occurrence of words exceed "
            f"{self.noise_edge:.3g}, the largest for words drawn at random, and the largest drop "
            f"follows number {self.number}; give the number if you know it"
        )


def find_number(counts: WordCounts) -> NumberFound:
    """The number of topics, from the eigenvalues against those of words drawn at random."""
    # One eigenvalue more than topics are allowed, to see how far the values fall after the last.
    most = min(MOST_TOPICS + 1, counts.shape[1] - 1, counts.shape[0])
    spectrum = word_spectrum(counts, max(most, 1))
    edge = noise_edge(spectrum)
    values, beyond = np.split(spectrum.values[:most], [MOST_TOPICS])
    number = number_of_topics(values, edge, following=float(beyond.sum()))
    return NumberFound(number, values, edge)


def notes_on_counts(counts: WordCounts, problem: CountProblem) -> list[str]:
    """What was done to the counts that their owner should know."""
    notes = []
    if not counts.whole:
        notes.append(
            "the data have fractions, so they are not word counts: pairs of a word with itself are "
            "left out, and document weights treat the numbers as if they were counts"
        )
    if problem.spectrum.capped:
        notes.append(
            "words repeat within documents far more than topics explain, so the search for topics "
            f"counts at most {MOST_REPEATS:.0f} occurrences of a word in a document"
        )
    k, n_parts = problem.points.shape[1], problem.spectrum.n_parts
    if n_parts > k:
        notes.append(
            f"the co-occurrence of words shows more than {k} topics: {n_parts} were found first, "
            f"and those that occur in the same documents were joined until {k} were left"
        )
    notes += _note_on_noise(counts, problem.spectrum)
    short = int(np.count_nonzero(counts.lengths == 1))
    if short:
        verb = "has" if short == 1 else "have"
        notes.append(f"{counted(short, 'document')} {verb} only one word, and so no pairs of words")
    return notes


def _note_on_noise(counts: WordCounts, spectrum: WordSpectrum) -> list[str]:
    """Said where more topics were asked for than stand out from the noise.

    Topics that do are followed by a gap; the noise is looked at where there is none. A corpus of
    very many words has little noise, and is not redrawn.
    """
    values, k = spectrum.values[:-1], len(spectrum.values) - 1
    if k < 2 or values[-1] > GAP * spectrum.values[-1] or counts.different.sum() > MOST_REDRAWN:
        return []
    edge = noise_edge(spectrum)
    above = int(np.count_nonzero(values > edge))
    if above == k:
        return []
    return [
        f"{above} of {k} eigenvalues of the co-occurrence of words exceed {edge:.3g}, the largest "
        f"for words drawn at random: this corpus is too small to distinguish {k} topics; "
        "ask for fewer, or use more or longer documents"
    ]
