"""How often words occur together, without the bias of pairing a word with itself; never formed.

A document of N words with counts c has N(N − 1) ordered pairs of different occurrences. With
weights w of the documents that sum to one,

    Q = Σ_d w_d (c_d c_dᵀ − diag c_d) / (N_d (N_d − 1)).

If the words of a document are drawn by themselves from topics A (words × topics) with weights θ_d,
E[Q] = A (Σ_d w_d θ_d θ_dᵀ) Aᵀ for all w that do not depend on the words drawn (Arora et al. 2013,
Section 4.1). Entries that are not whole numbers cannot be told apart into occurrences: there
diag c is replaced by diag c², which leaves out every pair of a word with itself.
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.linalg.products import product, transposed_product
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.parallel import computed_once

Floats = NDArray[np.float64]

PART = 2**20  # entries looked at together


class WordPairs:
    """Q as an operator, and M = D Q D with D = diag(Q 1 + mean of Q 1)^(−1/2).

    Without the mean, noise would have the same variance in all entries of M; but rare words then
    have eigenvectors of their own: a few words that occur together in a few documents and
    nowhere else have an eigenvalue near one. The mean takes these down, as in regularised
    spectral clustering (Qin & Rohe 2013), and changes nothing about the span of the topics.

    Parameters
    ----------
    counts : csr_array (n_documents, n_words)
        Nonnegative. Kept in single precision with the words by frequency, so that products find
        frequent words close together in memory.
    weights : array (n_documents,), optional
        Weights of the documents, equal by default; documents of fewer than two words get none.
    """

    def __init__(self, counts: sp.csr_array, weights: Floats | None = None) -> None:
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
        own = lengths if are_whole(counts) else _sums_of_squares(counts)
        self.own_is_count = own is lengths
        pairs = lengths**2 - own
        pairs[pairs <= 1e-9 * lengths**2] = 0.0
        self.lengths, self._pairs = lengths, pairs
        self._weigh(np.ones(len(lengths)) if weights is None else weights)
        self._order = np.argsort(-np.bincount(counts.indices, minlength=counts.shape[1]))
        rank = np.empty(counts.shape[1], dtype=counts.indices.dtype)
        rank[self._order] = np.arange(counts.shape[1])
        data = counts.data.astype(np.float32)
        self._counts = sp.csr_array((data, rank[counts.indices], counts.indptr), counts.shape)

    def _weigh(self, weights: Floats) -> None:
        weights = np.where(self._pairs > 0, weights, 0.0)
        self.weights = weights / max(weights.sum(), np.finfo(float).tiny)
        self.per_pair = self.weights * inverse_where_positive(self._pairs)

    def weighted(self, weights: Floats) -> WordPairs:
        """The same counts with other weights of the documents; the counts are shared."""
        other = copy.copy(self)
        for found in ("_own", "_sums", "_scales"):
            other.__dict__.pop(found, None)
        other._weigh(weights)
        return other

    @property
    def n_words(self) -> int:
        """Q has so many rows and columns."""
        return int(self._counts.shape[1])

    @computed_once
    def _own(self) -> Floats:
        """Σ_d w_d diag(c_d) / pairs, words by frequency."""
        powers = self._counts if self.own_is_count else self._powers(2)
        return np.asarray(powers.T @ self.per_pair)

    @computed_once
    def _sums(self) -> Floats:
        sums = self._counts.T @ (self.per_pair * self.lengths) - self._own
        return np.where(sums > 1e-12 * np.max(sums, initial=0.0), sums, 0.0)

    @computed_once
    def _scales(self) -> Floats:
        used = self._sums > 0
        mean = self._sums.sum() / max(1, np.count_nonzero(used))
        return np.where(used, 1.0 / np.sqrt(self._sums + max(mean, np.finfo(float).tiny)), 0.0)

    @property
    def row_sums(self) -> Floats:
        """Q 1: the frequencies of the words, where documents count by their weights."""
        return self.as_given(self._sums)

    @property
    def scales(self) -> Floats:
        """Diagonal of D; zero for words that never occur beside another one."""
        return self.as_given(self._scales)

    def scaled_product(self, right: Floats) -> Floats:
        """M @ right for a matrix (n_words, m)."""
        return self.as_given(self.scaled_product_by_frequency(right[self._order]))

    def scaled_product_by_frequency(self, right: Floats) -> Floats:
        """The same with rows in the order of `to_frequency_order`: saves two permutations."""
        narrow = self._scales[:, None] * right
        contexts = product(self._counts, narrow)
        contexts *= self.per_pair[:, None]  # in place: there may be a million documents
        together = transposed_product(self._counts, contexts)
        return self._scales[:, None] * (together - self._own[:, None] * narrow)

    def contexts(self, right: Floats) -> Floats:
        """counts @ D @ right (n_documents, m)."""
        return product(self._counts, (self.scales[:, None] * right)[self._order])

    def sums_over_documents(self, values: object, power: int = 1) -> Floats:
        """Σ_d (w_d c_dw N_d / pairs_d)^power values_d for each word: its share of each document."""
        shares = (self.per_pair * self.lengths) ** power
        return self.as_given(transposed_product(self._powers(power), shares[:, None] * values))

    def _powers(self, power: int) -> sp.csr_array:
        """Powers of the counts; indices are shared, which scipy's own would copy."""
        if power == 1:
            return self._counts
        parts = self._counts.data**power, self._counts.indices, self._counts.indptr
        return sp.csr_array(parts, shape=self._counts.shape)

    def trace(self) -> float:
        """Sum of all eigenvalues of M."""
        squares = self._powers(2).T @ self.per_pair
        return float(self._scales**2 @ (squares - self._own))

    def to_frequency_order(self, rows: Floats) -> Floats:
        """Rows of words in the order of `scaled_product_by_frequency`."""
        return rows[self._order]

    def as_given(self, rows: Floats) -> Floats:
        """Rows of words back in the order of the counts' columns."""
        out = np.empty_like(rows)
        out[self._order] = rows
        return out


def are_whole(counts: sp.csr_array) -> bool:
    """Whether all entries are whole numbers."""
    return all(
        bool(np.all(part == np.floor(part)))
        for part in np.array_split(counts.data, 1 + len(counts.data) // PART)
    )


def _sums_of_squares(counts: sp.csr_array) -> Floats:
    return np.asarray(counts.power(2).sum(axis=1), dtype=np.float64)
