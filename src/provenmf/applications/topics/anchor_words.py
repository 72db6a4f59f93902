"""Words as points, topics from anchor words, and weights of documents: the steps of `find_topics`.

Nguyen22, Section V-B; Arora13. Features F = tf-idf (documents, words); co-occurrence P = FᵀF/n,
never formed; each word's vector scaled to sum one and projected on leading singular vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.words import document_frequency, tf_idf
from provenmf.blocks import Blocks
from provenmf.blocks.mapped import MappedBlocks
from provenmf.errors import InvalidInput
from provenmf.io.notes import counted
from provenmf.linalg.cooccurrence import Cooccurrence
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.solvers.topics.counts import WordCounts
from provenmf.solvers.weights import encode


@dataclass(frozen=True, eq=False)
class WordProblem:
    """Candidate words as points: rows of the scaled co-occurrence in projected coordinates."""

    points: NDArray[np.float64]
    candidates: NDArray[np.intp]
    cooccurrence: Cooccurrence


def word_problem(
    counts: sp.csr_array, n_topics: int | None, min_anchor_documents: int | None = None
) -> WordProblem:
    """The matrix that separable NMF works on: words in 2k coordinates."""
    documents = document_frequency(counts)
    least = min_anchor_documents
    if least is None:
        least = max(2, counts.shape[0] // 100)
    cooccurrence = Cooccurrence(tf_idf(counts))
    candidates = np.flatnonzero((documents >= least) & (cooccurrence.row_sums() > 0))
    if len(candidates) < (n_topics or 2):
        raise InvalidInput(
            f"only {len(candidates)} words occur in {least} or more documents",
            argument="min_anchor_documents",
            remedy=f"lower {{argument={least}}} or ask for fewer topics",
        )
    dimensions = min(2 * (n_topics or 25), len(candidates), counts.shape[0])
    points, directions = cooccurrence.scaled_projection(dimensions)
    turned = points[candidates] @ turn_to_diagonal(directions.sum(axis=1))
    return WordProblem(turned, candidates, cooccurrence)


def turn_to_diagonal(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """The reflection that takes a vector to a multiple of (1, …, 1).

    Words sum to one in the vocabulary; after this turn their coordinates, too, have nearly equal
    positive sums, which is what XRAY divides by. The other methods do not notice.
    """
    size = len(vector)
    normal = vector / np.linalg.norm(vector) - 1 / np.sqrt(size)
    squared = normal @ normal
    if squared < np.finfo(np.float64).eps:
        return np.eye(size)
    return np.asarray(np.eye(size) - np.outer(normal, normal) * (2 / squared))


def topics_from_anchors(
    cooccurrence: Cooccurrence, anchors: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Topics (k, words): P ≈ H'ᵀ P[anchors] with H ≥ 0, rows of H scaled to sum one."""
    rows = cooccurrence.rows(anchors)
    weights = nonnegative_least_squares(rows @ rows.T, cooccurrence @ rows.T)
    return scaled_to_sum_one(np.ascontiguousarray(weights.T))


def document_weights(
    counts: WordCounts,
    topics: NDArray[np.float64],
    rarity: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Weight of each topic in each document: nonnegative least squares, rows to sum one.

    They are fitted to the counts, or with the `rarity` of the words to tf-idf features.
    """
    features: Blocks = counts.blocks
    if rarity is not None:
        features = MappedBlocks(features, partial(tf_idf, rarity=rarity))
    return scaled_to_sum_one(encode(features, topics))


def unit_documents(counts: sp.csr_array) -> sp.csr_array:
    """tf-idf documents scaled to unit length, for methods that factorize documents."""
    features = tf_idf(counts)
    lengths = np.sqrt(features.multiply(features).sum(axis=1))
    scales = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.diags_array(scales) @ features)


def usable_words(counts: WordCounts) -> tuple[NDArray[np.intp], list[str]]:
    """Words in at least two documents but not in all; nothing else can carry a topic."""
    n_documents = counts.shape[0]
    if n_documents < 2:
        raise InvalidInput(f"the corpus has {n_documents} document: topics need at least two")
    documents = counts.documents
    kept = np.flatnonzero((documents >= 2) & (documents < n_documents))
    if not len(kept):
        raise InvalidInput(
            "no word occurs in two documents but not in all: use longer or more documents"
        )
    notes = []
    if len(kept) < len(documents):
        dropped = len(documents) - len(kept)
        notes.append(f"{counted(dropped, 'word')} in fewer than two or in all documents left out")
    return kept, notes


def scaled_to_sum_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows divided by their sums; rows of zeros stay."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0))
