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
    GAP,
    MOST_REPEATS,
    MOST_TOPICS,
    WordSpectrum,
    noise_edge,
    number_of_topics,
    word_spectrum,
)
from provenmf.applications.topics.coordinates import anchor_spectrum, cosines
from provenmf.applications.topics.corpus import WordCounts, boilerplate_words
from provenmf.applications.topics.groups import stepped, topics_of_groups
from provenmf.applications.topics.inference import (
    dirichlet_prior,
    held_out_likelihood,
    infer_documents,
    likeliest_prior,
    sample_of_documents,
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
from provenmf.budget import available_threads, block_bytes, check_budget, room_for_parts
from provenmf.data.disk import BLOCK_BYTES, PART_BYTES
from provenmf.errors import InvalidInput, counted
from provenmf.methods.separable.vertices import Vertices, barycentric
from provenmf.metrics.matching import best_assignment

Floats = NDArray[np.float64]

FEWEST_GROUPED = 100  # documents; fewer do not show which topics keep to different ones
# Measured: .02 to .06 in mails and package descriptions and .08 in docstrings, where groups are
# right; .084 to .13 in trials of TDT2 where they divide one large class. The margin is narrow.
ALIKE = 0.08
MOST_MORE = 60  # coordinates beyond k in which documents are grouped
MOST_REDRAWN = 5_000_000  # entries of counts, beyond which no words are drawn at random
# What is held in memory at once: arrays as large as the eigenvectors, numbers for each document.
WORD_VECTORS, DOCUMENT_NUMBERS = 14, 12


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
        how well they are known; None for topics from groups of documents.
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
    unbounded: Floats | None
    refined: bool
    shares: Floats


def topics_from_counts(matrix: Any, n_topics: int) -> CountTopics:
    """Find the topics of a corpus of counts (documents, words), with anchor words by SPA."""
    counts = WordCounts(matrix)
    view = topic_view(counts, n_topics)
    words = word_points(view.spectrum)
    return topics_at(counts, view, words, anchors_by_spa(words))


@dataclass(frozen=True, eq=False)
class TopicView:
    """The coordinates in which words are points.

    Attributes
    ----------
    spectrum : WordSpectrum
        k coordinates.
    shares : array (n_words, k) or None
        p(topic | word) where topics start from groups of documents; None where they start from
        anchor words.
    """

    spectrum: WordSpectrum
    shares: Floats | None = None

    @property
    def start(self) -> str:
        """Where topics start: "anchors" or "groups"."""
        return "anchors" if self.shares is None else "groups"


def topic_view(counts: WordCounts, k: int, start: str | None = None) -> TopicView:
    """Choose the coordinates for k topics.

    Under the model the k leading eigenvectors span all that topics say about words, and a gap
    follows the k-th eigenvalue. Where words repeat or there is no gap, topics from groups of
    documents (`groups`) compete with topics from anchor words, and win if

    - they make a half of the words of documents likelier, given the other half,
    - and keep to different documents: the weights of no two topics over the documents have a
      cosine above `ALIKE`. Otherwise two of them are parts of one topic, which likelihood alone
      cannot tell, and the search would divide a large subject instead of finding a small one.

    Topics from groups have the coordinates that they span.

    start : "anchors" or "groups" if this has been decided before.
    """
    wide = word_spectrum(counts, k, more=min(3 * k, MOST_MORE))
    if k < 2 or wide.vectors.shape[1] <= k or counts.shape[0] < FEWEST_GROUPED:
        return TopicView(anchor_spectrum(counts, wide, k))
    found = None if start == "anchors" else _view_of_groups(counts, wide, k, start)
    return found or TopicView(anchor_spectrum(counts, wide, k))


def _view_of_groups(
    counts: WordCounts, wide: WordSpectrum, k: int, start: str | None
) -> TopicView | None:
    """Return the coordinates of topics from groups, or None where anchor words are better."""
    shares = stepped(wide.pairs.counts, topics_of_groups(wide, k))
    topics = topics_of(shares, counts.frequencies)
    if start is None:
        sample, prior = sample_of_documents(counts), np.full(k, 1.0 / k)
        if cosines(infer_documents(sample, topics, prior)).max() > ALIKE:
            return None
        rival = _topics_by_anchors(wide.leading(k), counts)
        if rival is not None:
            by_anchors, by_groups = (
                held_out_likelihood(sample, found, prior) for found in (rival, topics)
            )
            if by_anchors >= by_groups:
                return None
    directions = np.linalg.qr(((topics * wide.pairs.scales) @ wide.vectors).T)[0]
    return TopicView(wide.along(directions), shares)


def _topics_by_anchors(spectrum: WordSpectrum, counts: WordCounts) -> Floats | None:
    """Return topics from anchor words after one step; None if there are too few words."""
    words = word_points(spectrum)
    anchors = anchors_by_spa(words)
    if len(anchors) < spectrum.vectors.shape[1]:
        return None
    shares = shares_at(words, vertices_at(words, anchors).points, counts.frequencies)
    topics = topics_of(shares, counts.frequencies)
    return topics_of(stepped(spectrum.pairs.counts, topics, steps=1), counts.frequencies)


def topics_at(
    counts: WordCounts,
    view: TopicView,
    words: WordPoints,
    anchors: NDArray[np.intp],
    *,
    refine: bool = True,
) -> CountTopics:
    """Find topics whose vertices are averaged around the given anchor words, then refine them.

    Topics from groups of documents stay; each gets the anchor word that is most its own.
    """
    spectrum, frequencies = view.spectrum, counts.frequencies
    vertices = vertices_at(words, anchors)
    if view.shares is not None:
        return _topics_of_groups_at(counts, view.shares, anchors, vertices)
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


def _topics_of_groups_at(
    counts: WordCounts, shares: Floats, anchors: NDArray[np.intp], vertices: Vertices
) -> CountTopics:
    """Return topics from groups in the order of the anchors, with their likeliest prior."""
    order = best_assignment(shares[anchors])[1]
    shares, frequencies = shares[:, order], counts.frequencies
    topics = topics_of(shares, frequencies)
    prior = likeliest_prior(counts, topics, frequencies @ shares, independent=False)
    return CountTopics(topics, frequencies, prior, anchors, vertices, None, True, shares)


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


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Candidate words as points in k coordinates, moved in by their noise; where they come from."""

    points: NDArray[np.float64]
    candidates: NDArray[np.intp]
    view: TopicView
    words: WordPoints
    boilerplate: NDArray[np.intp]


def count_problem(
    counts: WordCounts,
    n_topics: int,
    min_anchor_documents: int | None = None,
    start: str | None = None,
) -> CountProblem:
    """Build the matrix that separable NMF works on; `start` as in `topic_view`."""
    check_topic_memory(counts, n_topics)
    view = topic_view(counts, n_topics, start)
    words = word_points(view.spectrum)
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
    boilerplate = boilerplate_words(counts)
    others = np.setdiff1d(candidates, boilerplate, assume_unique=True)
    if len(others) >= n_topics:
        candidates = others
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
    return CountProblem(points, candidates, view, words, boilerplate)


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
    if problem.view.spectrum.capped:
        notes.append(
            "words repeat within documents far more than topics explain, so the search for topics "
            f"counts at most {MOST_REPEATS:.0f} occurrences of a word in a document"
        )
    if problem.view.start == "groups":
        notes.append(
            "topics were found from groups of documents, because these make held-out words "
            "likelier than topics from anchor words"
        )
    if len(problem.boilerplate):
        notes.append(
            f"{counted(len(problem.boilerplate), 'word')} always occur together in the same few "
            "documents (signatures, tables, near-duplicates) and cannot become anchor words"
        )
    notes += _note_on_noise(counts, problem.view.spectrum)
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
