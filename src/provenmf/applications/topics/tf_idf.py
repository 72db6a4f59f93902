"""Topics from tf-idf features: words as points and anchor words, or least squares on documents.

Nguyen22, Section V-B; Arora13. Features F = tf-idf (documents, words); co-occurrence P = FᵀF/n,
never formed; each word's vector scaled to sum one and projected on leading singular vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import weights_of_documents
from provenmf.data import Blocks, MappedBlocks
from provenmf.errors import InvalidInput
from provenmf.linalg.nnls import encoder, nonnegative_least_squares
from provenmf.linalg.norms import inverse_where_positive, rows_to_sum_one
from provenmf.linalg.spectral import Spectrum, leading_eigenpairs, with_fixed_signs


def rarity_of(documents: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """log(n / df) of each word, from the number of documents that have it."""
    return np.asarray(np.log(n_documents / np.maximum(documents, 1)))


def tf_idf(counts: sp.csr_array, rarity: NDArray[np.float64] | None = None) -> sp.csr_array:
    """(1 + log tf) · log(n / df), rows not normalised (Nguyen22's protocol).

    `rarity` is that of other documents, for weights of new ones.
    """
    weighted = sp.csr_array(counts, copy=True)
    weighted.eliminate_zeros()
    if rarity is None:
        rarity = rarity_of(document_frequency(weighted), weighted.shape[0])
    weighted.data = (1 + np.log(weighted.data)) * rarity[weighted.indices]
    return weighted


def document_frequency(counts: sp.csr_array) -> NDArray[np.int64]:
    """In how many documents each word occurs."""
    return np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])


def unit_documents(counts: sp.csr_array) -> sp.csr_array:
    """tf-idf documents scaled to unit length, for methods that factorize documents."""
    features = tf_idf(counts)
    lengths = np.sqrt(features.multiply(features).sum(axis=1))
    return sp.csr_array(sp.diags_array(inverse_where_positive(lengths)) @ features)


class Cooccurrence:
    """The co-occurrence matrix P = FᵀF / n of counts F (documents, words), never formed.

    P has as many entries as there are pairs of words. Everything asked of it comes from products
    with F. It is symmetric, so rows are columns.

    Parameters
    ----------
    counts : F (n_documents, n_words), sparse or dense, nonnegative.
    """

    def __init__(self, counts: object) -> None:
        matrix = counts if sp.issparse(counts) else np.asarray(counts)
        self._counts = sp.csc_array(matrix).astype(np.float64, copy=False)
        self._transposed = self._counts.T.tocsr()

    @property
    def shape(self) -> tuple[int, int]:
        """(n_words, n_words)."""
        return (self._counts.shape[1],) * 2

    def __matmul__(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P @ right, for a vector or a matrix."""
        return np.asarray(self._transposed @ (self._counts @ right) / self._counts.shape[0])

    def row_sums(self) -> NDArray[np.float64]:
        """Return P 1 = Fᵀ(F 1)/n."""
        return self @ np.ones(self.shape[0])

    def rows(self, index: ArrayLike) -> NDArray[np.float64]:
        """Return P[index, :] as a dense array."""
        chosen = self._transposed[np.atleast_1d(np.asarray(index, dtype=np.intp))]
        return np.asarray((chosen @ self._counts).toarray() / self._counts.shape[0])

    def scaled_spectrum(self, k: int) -> Spectrum:
        """Return squared singular values and right vectors of P̄, P with rows that sum to one."""
        squared_scales = inverse_where_positive(self.row_sums()) ** 2
        return leading_eigenpairs(
            lambda v: self @ (squared_scales[:, None] * (self @ v)), self.shape[0], k
        )

    def scaled_projection(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows of P̄ in the coordinates of its k leading right singular vectors.

        Returns P̄ V (n_words, k) and V as rows (k, n_words): P̄ ≈ (P̄ V) Vᵀ, the best of rank k.
        """
        directions = with_fixed_signs(self.scaled_spectrum(k).vectors)
        scales = inverse_where_positive(self.row_sums())
        return scales[:, None] * (self @ directions.T), directions


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


def weights_in(
    counts: WordCounts,
    topics: NDArray[np.float64],
    prior: NDArray[np.float64] | None,
    rarity: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weights of documents, by likelihood where there is a prior, otherwise by least squares."""
    if prior is not None:
        return weights_of_documents(counts, topics, prior)
    return least_squares_weights(counts, topics, rarity)


def least_squares_weights(
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
    return rows_to_sum_one(features.map_rows(encoder(topics, features.dtype)))
