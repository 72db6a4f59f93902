"""How often words occur together, without the bias of pairing a word with itself; never formed.

A document of N words with counts c has N(N − 1) ordered pairs of different occurrences. With
weights w of the documents that sum to one,

    Q = Σ_d w_d (c_d c_dᵀ − diag c_d) / (N_d (N_d − 1)).

If the words of a document are drawn by themselves from topics A (words × topics) with weights θ_d,
E[Q] = A (Σ_d w_d θ_d θ_dᵀ) Aᵀ for all w that do not depend on the words drawn (Arora et al. 2013,
Section 4.1). Entries that are not whole numbers cannot be told apart into occurrences: there
diag c is replaced by diag c², which leaves out every pair of a word with itself.

Q is a sum over documents, so that every product with it is one pass over the blocks of the counts.
"""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus_counts import WordCounts, by_rank, squared
from provenmf.budget import computed_once
from provenmf.linalg.products import product, transposed_product
from provenmf.linalg.scaling import inverse_where_positive

Floats = NDArray[np.float64]


class WordPairs:
    """Q as an operator, and M = D Q D with D = diag(Q 1 + mean of Q 1)^(−1/2).

    Without the mean, noise would have the same variance in all entries of M; but rare words then
    have eigenvectors of their own: a few words that occur together in a few documents and
    nowhere else have an eigenvalue near one. The mean takes these down, as in regularised
    spectral clustering (Qin & Rohe 2013), and changes nothing about the span of the topics.

    Parameters
    ----------
    counts : WordCounts (n_documents, n_words)
        Products take each block in single precision with the words by frequency, so that they
        find frequent words close together in memory.
    weights : array (n_documents,), optional
        Weights of the documents, equal by default; documents of fewer than two words get none.
    """

    def __init__(self, counts: WordCounts, weights: Floats | None = None) -> None:
        self.counts, self.lengths = counts, counts.lengths
        pairs = self.lengths**2 - (self.lengths if counts.whole else counts.squares)
        pairs[pairs <= 1e-9 * self.lengths**2] = 0.0
        self._pairs = pairs
        self._weigh(np.ones(len(pairs)) if weights is None else weights)

    def _weigh(self, weights: Floats) -> None:
        weights = np.where(self._pairs > 0, weights, 0.0)
        self.weights = weights / max(weights.sum(), np.finfo(float).tiny)
        self.per_pair = self.weights * inverse_where_positive(self._pairs)

    def weighted(self, weights: Floats) -> WordPairs:
        """The same counts with other weights of the documents."""
        other = copy.copy(self)
        for found in ("_sums_and_own", "_scales"):
            other.__dict__.pop(found, None)
        other._weigh(weights)
        return other

    @property
    def n_words(self) -> int:
        """Q has so many rows and columns."""
        return self.counts.shape[1]

    @computed_once
    def _sums_and_own(self) -> tuple[Floats, Floats]:
        """Q 1 and Σ_d w_d diag(c_d) / pairs."""
        factors = np.column_stack([self.per_pair * self.lengths, self.per_pair])
        with_pairs, own = self.counts.blocks.map_reduce(
            partial(weighted_sums, self.counts.whole), factors
        )
        sums = with_pairs - own
        return np.where(sums > 1e-12 * np.max(sums, initial=0.0), sums, 0.0), own

    @computed_once
    def scales(self) -> Floats:
        """Diagonal of D; zero for words that never occur beside another one."""
        sums = self.row_sums
        used = sums > 0
        mean = sums.sum() / max(1, np.count_nonzero(used))
        return np.where(used, 1.0 / np.sqrt(sums + max(mean, np.finfo(float).tiny)), 0.0)

    @property
    def row_sums(self) -> Floats:
        """Q 1: the frequencies of the words, where documents count by their weights."""
        return self._sums_and_own[0]

    def scaled_product(self, right: Floats) -> Floats:
        """M @ right for a matrix (n_words, m): one pass."""
        narrow = self.scales[:, None] * right
        together = self.counts.blocks.map_reduce(
            partial(beside, self.counts.rank, self.by_frequency(narrow)), self.per_pair
        )
        own = self._sums_and_own[1]
        beside_others = together[self.counts.rank] - own[:, None] * narrow
        return np.asarray(self.scales[:, None] * beside_others)

    def by_frequency(self, rows: Floats) -> NDArray[np.float32]:
        """Rows of words in the order of `by_rank`, in single precision."""
        return np.ascontiguousarray(rows[self.counts.order], dtype=np.float32)

    def contexts_of_words(self, right: Floats) -> tuple[Floats, Floats]:
        """Sums over documents of their contexts z_d = (D right)ᵀ c_d / (N_d − 1), by word.

        Returns
        -------
        array (n_words, m + 2)
            Σ_d g_dw² (z_d, ‖z_d‖², 1) with g_dw = w_d c_dw N_d / pairs_d, the share of each
            document in a word.
        array (n_words,)
            Σ_d g_dw.
        """
        shares = self.per_pair * self.lengths
        factors = np.column_stack([1.0 / np.maximum(self.lengths - 1.0, 1.0), shares])
        narrow = self.by_frequency(self.scales[:, None] * right)
        sums, plain = self.counts.blocks.map_reduce(
            partial(sums_of_contexts, self.counts.rank, narrow), factors
        )
        return sums[self.counts.rank], plain[self.counts.rank, 0]

    def trace(self) -> float:
        """Sum of all eigenvalues of M."""
        factors = np.column_stack([self.per_pair, self.per_pair])
        _, squares = self.counts.blocks.map_reduce(partial(weighted_sums, False), factors)
        return float(self.scales**2 @ (squares - self._sums_and_own[1]))


def weighted_sums(whole: bool, block: sp.csr_array, factors: Floats) -> tuple[Floats, Floats]:
    """Σ_d c_d times the first factor; Σ_d c_d, or c_d² unless whole, times the second."""
    own = block if whole else squared(block)
    return np.asarray(block.T @ factors[:, 0]), np.asarray(own.T @ factors[:, 1])


def beside(
    rank: NDArray[np.int32], narrow: NDArray[np.float32], block: sp.csr_array, per_pair: Floats
) -> Floats:
    """Σ_d c_d c_dᵀ narrow / pairs, words by frequency."""
    counts = by_rank(rank, block)
    contexts = product(counts, narrow)
    contexts *= per_pair[:, None]
    return transposed_product(counts, contexts).astype(np.float64)


def sums_of_contexts(
    rank: NDArray[np.int32], narrow: NDArray[np.float32], block: sp.csr_array, factors: Floats
) -> tuple[Floats, Floats]:
    """The sums of `WordPairs.contexts_of_words`, words by frequency."""
    counts = by_rank(rank, block)
    contexts = product(counts, narrow)
    contexts *= factors[:, :1]
    squares = np.einsum("ij,ij->i", contexts, contexts)[:, None]
    ones = np.ones_like(squares)
    shares = factors[:, 1:]
    values = np.hstack([contexts, squares, ones]) * shares**2
    sums = transposed_product(squared(counts), values).astype(np.float64)
    return sums, transposed_product(counts, shares).astype(np.float64)
