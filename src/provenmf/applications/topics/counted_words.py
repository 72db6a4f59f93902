"""Words as points from counts, and topics around their anchors: the default way of `find_topics`.

The steps are in `solvers.topics`. Any separable method may choose the anchors; vertices, topics and
weights of documents are then the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.anchor_words import turn_to_diagonal
from provenmf.applications.topics.coordinates import topic_spectrum
from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.crossing import FOLDS
from provenmf.applications.topics.spectrum import (
    EXTRA,
    MOST_REPEATS,
    MOST_TOPICS,
    WordSpectrum,
    noise_edge,
    number_of_topics,
    word_spectrum,
)
from provenmf.applications.topics.word_points import (
    WordPoints,
    anchor_candidates,
    cautious_points,
    word_points,
)
from provenmf.budget import available_threads, block_bytes, room_for_parts
from provenmf.data.disk import BLOCK_BYTES, PART_BYTES
from provenmf.errors import InvalidInput
from provenmf.io.notes import counted
from provenmf.methods.memory import check_budget

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
