"""Topics from counts: spectrum, points of words, anchors, vertices, probabilities.

The model: every word of a document is drawn independently, a topic from the document's weights,
then a word from the topic. Arora et al. 2013 find anchor words by the words' co-occurrence; Ke &
Wang 2022 (Topic-SCORE) and Bing, Bunea & Wegkamp 2020 show that no method can have an L1 error
below √(words / (documents × length)) up to a constant and logarithms, and that methods of this kind
reach it where every topic has anchor words. Their theorems are about their own steps, not ours.

Points. With M = D Q D ≈ U Λ Uᵀ, the point of word w is row w of Q divided by its sum, in the
coordinates D U: row w of D⁻¹ U Λ over (Q 1)_w. It is the mean context of the word,

    point_w = Σ_t p(t | w) vertex_t,

and a word of one topic lies at a vertex. The mean is over documents d with shares g_d ∝ w_d c_dw /
N_d and contexts z_d = D U c_d / (N_d − 1), so its variance follows from their spread, per
coordinate:

    e_w² = s_w² / n_w,   n_w = (Σ g)² / Σ g²,   s_w² = Σ g² ‖z_d − point_w‖² / (Σ g² k),

with s_w² shrunk towards the mean of all words with the weight of `PRIOR_DOCUMENTS` documents.

Texts are not drawn from k topics: words repeat, and there are topics within topics. Then k anchor
words describe a few odd corners of the corpus, and topics start from groups of documents instead
(`groups`). The spectrum decides. If k topics explain the corpus, the eigenvalue after the k-th is
one of noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import fit_matrix
from provenmf.applications.topics.cooccurrence import (
    EXTRA,
    MOST_REPEATS,
    MOST_TOPICS,
    WordSpectrum,
    noise_edge,
    number_of_topics,
    word_spectrum,
)
from provenmf.applications.topics.corpus import Sample, WordCounts, unit_documents
from provenmf.applications.topics.groups import topics_of_groups
from provenmf.applications.topics.inference import (
    likeliest_prior,
    refined_shares,
    topic_shares_of_words,
    topics_of,
)
from provenmf.budget import available_threads, block_bytes, check_budget
from provenmf.data import as_blocks
from provenmf.data.disk import BLOCK_BYTES
from provenmf.errors import InvalidInput, counted
from provenmf.linalg.norms import inverse_where_positive
from provenmf.methods.separable.vertices import average_vertices
from provenmf.results import Factorization

Floats = NDArray[np.float64]

FEWEST_GROUPED = 100  # documents; fewer do not show which topics keep to different ones
MOST_MORE = 60  # coordinates beyond k in which documents are grouped
# Largest eigenvalue of noise over that of redrawn words: at most 1.05 in nine corpora drawn from
# 4 to 100 topics, and at least 1.7 in texts, whose k + 1st eigenvalue is signal.
NOISE = 1.25
MOST_REDRAWN = 20_000_000  # entries of counts, beyond which no words are drawn at random
# What is held in memory at once: arrays as large as the eigenvectors, numbers for each document.
WORD_VECTORS, DOCUMENT_NUMBERS = 14, 12
PRIOR_DOCUMENTS = 10.0
SHARED_OPTIONS = ("certify", "verbose", "callback", "on_interrupt")


@dataclass(frozen=True, eq=False)
class WordPoints:
    """Points of the words.

    Attributes
    ----------
    points : array (n_words, k)
        Row w of Q over its sum, in k coordinates.
    errors : array (n_words,)
        Standard error of a coordinate; infinite for words that never occur beside another.
    n_documents : array (n_words,)
        The effective number of documents n_w behind each point.
    """

    points: Floats
    errors: Floats
    n_documents: Floats


def word_points(spectrum: WordSpectrum) -> WordPoints:
    """Compute the points of all words and their standard errors."""
    pairs, vectors = spectrum.pairs, spectrum.vectors
    frequencies, k = pairs.row_sums, vectors.shape[1]
    scales = inverse_where_positive(frequencies * pairs.scales)
    points = scales[:, None] * spectrum.images
    sums, plain = pairs.contexts_of_words(vectors)
    inner, squared, shares = sums[:, :-2], sums[:, -2], sums[:, -1]
    along = np.einsum("ij,ij->i", inner, points)
    spread = np.maximum(squared - 2 * along + (points**2).sum(axis=1) * shares, 0.0)
    n_documents = plain**2 * inverse_where_positive(shares)
    pooled = spread.sum() / max(shares.sum(), np.finfo(float).tiny)
    variance = PRIOR_DOCUMENTS * pooled + n_documents * spread * inverse_where_positive(shares)
    variance /= (PRIOR_DOCUMENTS + n_documents) * k
    known = (n_documents > 0) & (frequencies > 0)
    errors = np.full(len(points), np.inf)
    errors[known] = np.sqrt(variance[known] / n_documents[known])
    return WordPoints(points, errors, n_documents)


def anchor_candidates(words: WordPoints, boilerplate: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Select the words that may become anchors: the tenth with the smallest standard errors.

    Separable methods look for extreme rows, and among many rows of unequal noise the most extreme
    ones are the noisiest. There are at least 10 candidates for each topic, if there are such words.
    Boilerplate would be extreme, too.
    """
    usable = np.flatnonzero(np.isfinite(words.errors) & ~boilerplate)
    number = max(len(usable) // 10, 10 * words.points.shape[1])
    return np.sort(usable[np.argsort(words.errors[usable], kind="stable")[:number]])


def topic_spectrum(counts: WordCounts, k: int) -> WordSpectrum:
    """Return the spectrum for k topics, or refuse topics that exceed the memory budget."""
    check_topic_memory(counts, k)
    return word_spectrum(counts, k)


def noise_beside(spectrum: WordSpectrum) -> float:
    """Return the largest eigenvalue of noise; NaN for a corpus too large to resample."""
    too_large = spectrum.pairs.counts.different.sum() > MOST_REDRAWN
    return np.nan if too_large else noise_edge(spectrum)


def misleads_anchors(spectrum: WordSpectrum, edge: float) -> bool:
    """Return whether the corpus has more subjects than topics, or repeats words."""
    n_documents, n_words = spectrum.pairs.counts.shape
    enough = n_documents >= FEWEST_GROUPED and 1 < spectrum.vectors.shape[1] < n_words
    return enough and (spectrum.capped or bool(spectrum.values[-1] > NOISE * edge))


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Candidate words as points in k coordinates, and where they come from."""

    points: NDArray[np.float64]
    candidates: NDArray[np.intp]
    spectrum: WordSpectrum
    words: WordPoints


def count_problem(counts: WordCounts, spectrum: WordSpectrum, n_topics: int) -> CountProblem:
    """Build the matrix that separable NMF works on, for as many topics as asked for."""
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
    candidates = anchor_candidates(words, counts.boilerplate)
    if len(candidates) < n_topics:
        raise InvalidInput(
            f"only {counted(len(candidates), 'word')} can become anchors of n_topics={n_topics} "
            "topics: ask for fewer topics"
        )
    points = words.points[candidates]
    # All points lie near one plane; its normal becomes the diagonal, so that coordinates sum to
    # nearly the same number, which is what XRAY divides by.
    normal = np.linalg.lstsq(points, np.ones(len(points)), rcond=None)[0].astype(np.float64)
    if np.any(normal):
        points = points @ turn_to_diagonal(normal)
    return CountProblem(points, candidates, spectrum, words)


class CountTopics(NamedTuple):
    """Topics from counts.

    topics : p(word | topic) (k, n_words).
    prior : Dirichlet parameters of the documents' weights (k,).
    shares : p(topic | word) (n_words, k).
    """

    topics: Floats
    prior: Floats
    shares: Floats


def shares_by_groups(spectrum: WordSpectrum, sample: Sample) -> Floats:
    """Return p(topic | word) from groups of documents, one for each coordinate of the spectrum."""
    k = spectrum.vectors.shape[1]
    groups = topics_of_groups(spectrum.widened(min(3 * k, MOST_MORE)), k, sample)
    return refined_shares(spectrum.pairs.counts, groups)


def topics_at(counts: WordCounts, problem: CountProblem, anchors: NDArray[np.intp]) -> CountTopics:
    """Find topics whose vertices are averaged around the given anchor words, then refine them.

    Words that never stand beside another one say nothing: they get the mean shares of the others.
    """
    frequencies, words = counts.frequencies, problem.words
    known = np.flatnonzero(np.isfinite(words.errors))
    # Contexts vary most along their vertex, so that the error there is larger than the mean error
    # of a coordinate: the inner width of 2.5 is about 1.5 of its own (benchmarks/EXPERIMENTS.md).
    vertices = average_vertices(
        as_blocks(words.points[known]),
        np.searchsorted(known, anchors),
        words.errors[known],
        anchors_off=3.0,
        inner=2.5,
        max_rounds=20,
    ).points
    shares = topic_shares_of_words(words.points, vertices)
    alone = np.isinf(words.errors)
    shares[alone] = frequencies[known] @ shares[known] / frequencies[known].sum()
    refined = refined_shares(problem.spectrum.pairs.counts, topics_of(shares, frequencies))
    return with_prior(counts, problem.spectrum, refined)


def with_prior(counts: WordCounts, spectrum: WordSpectrum, shares: Floats) -> CountTopics:
    """Return the topics with these shares of words, and the prior of the documents' weights."""
    topics, sizes = topics_of(shares, counts.frequencies), counts.frequencies @ shares
    prior = likeliest_prior(counts, topics, sizes, independent=not spectrum.capped)
    return CountTopics(topics, prior, shares)


def factorized_by(topics: Floats, counts: WordCounts, options: Mapping[str, Any]) -> Factorization:
    """Factorize documents of unit length with these topics as fixed components.

    options : of every method, for the certificate and messages; others are left out.
    """
    known = {name: options[name] for name in SHARED_OPTIONS if name in options}
    known["known_components"] = topics
    return fit_matrix(unit_documents(counts), len(topics), "hals", known)


def turn_to_diagonal(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the reflection that maps a vector to a multiple of (1, …, 1).

    Words sum to one in the vocabulary; after this turn their coordinates, too, have nearly equal
    positive sums, which is what XRAY divides by. The other methods do not notice.
    """
    size = len(vector)
    normal = vector / np.linalg.norm(vector) - 1 / np.sqrt(size)
    squared = normal @ normal
    if squared < np.finfo(np.float64).eps:
        return np.eye(size)
    return np.asarray(np.eye(size) - np.outer(normal, normal) * (2 / squared))


def check_topic_memory(counts: WordCounts, n_topics: int) -> None:
    """Refuse topics that exceed the budget: weights of documents, and vectors over the words."""
    n_documents, n_words = counts.shape
    by_document = 8.0 * n_documents * (n_topics + DOCUMENT_NUMBERS)
    by_word = 8.0 * n_words * (n_topics + EXTRA) * (WORD_VECTORS + available_threads())
    check_budget(
        f"find_topics needs for {n_documents} documents, {n_words} words and {n_topics} topics",
        by_document + by_word,
        16.0 * block_bytes(BLOCK_BYTES),
        16.0 * BLOCK_BYTES,
    )


def find_number(counts: WordCounts) -> tuple[int, str]:
    """Return the number of topics, and how it was found.

    The eigenvalues are compared with those of words drawn at random.
    """
    # One eigenvalue more than topics are allowed, to see how far the values fall after the last.
    most = min(MOST_TOPICS + 1, counts.shape[1] - 1, counts.shape[0])
    spectrum = word_spectrum(counts, max(most, 1))
    edge = noise_edge(spectrum)
    values, beyond = np.split(spectrum.values[:most], [MOST_TOPICS])
    number = number_of_topics(values, edge, following=float(beyond.sum()))
    above = int(np.count_nonzero(values > edge))
    more = " or more" if above == len(values) else ""
    note = (
        f"number of topics chosen automatically: {number}; {counted(above, 'eigenvalue')}{more} "
        f"of the co-occurrence of words exceed {edge:.3g}, the largest for words drawn at random, "
        f"and the largest drop follows number {number}; give the number if you know it"
    )
    return number, note


def notes_on_counts(
    counts: WordCounts, spectrum: WordSpectrum, edge: float, *, grouped: bool
) -> list[str]:
    """Return notes on changes made to the counts, and on corpora too small for the topics."""
    notes = []
    if not counts.whole:
        notes.append(
            "the data have fractions, so they are not word counts: pairs of a word with itself are "
            "left out, and document weights treat the numbers as if they were counts"
        )
    if spectrum.capped:
        notes.append(
            "words repeat within documents far more than topics explain, so the search for topics "
            f"counts at most {MOST_REPEATS:.0f} occurrences of a word in a document"
        )
    if grouped:
        notes.append(
            "topics were found from groups of documents, because these texts have more subjects "
            "than topics, or repeat words, which misleads a search by anchor words"
        )
    values, k = spectrum.values[:-1], len(spectrum.values) - 1
    if np.isnan(edge) and not grouped:
        edge = noise_beside(spectrum)
    above = int(np.count_nonzero(values > edge))
    if k > 1 and above < k and np.isfinite(edge):
        notes.append(
            f"{above} of {k} eigenvalues of the co-occurrence of words exceed {edge:.3g}, the "
            f"largest for words drawn at random: this corpus is too small to distinguish {k} "
            "topics; ask for fewer, or use more or longer documents"
        )
    short = int(np.count_nonzero(counts.lengths == 1))
    if short:
        verb = "has" if short == 1 else "have"
        notes.append(f"{counted(short, 'document')} {verb} only one word, and so no pairs of words")
    return notes
