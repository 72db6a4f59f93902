"""Words as points and topics from anchor words, by tf-idf: one way of `find_topics`.

Nguyen22, Section V-B; Arora13. Features F = tf-idf (documents, words); co-occurrence P = FᵀF/n,
never formed; each word's vector scaled to sum one and projected on leading singular vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.tf_idf import document_frequency, tf_idf
from provenmf.errors import InvalidInput
from provenmf.linalg.cooccurrence import Cooccurrence
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.scaling import rows_to_sum_one


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
    return rows_to_sum_one(np.ascontiguousarray(weights.T))
