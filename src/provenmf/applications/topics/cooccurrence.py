"""Co-occurrence of words without bias, its leading eigenpairs, and their noise level.

Co-occurrence. A document of N words with counts c has N(N − 1) ordered pairs of different
occurrences. With weights w of the documents that sum to one,

    Q = Σ_d w_d (c_d c_dᵀ − diag c_d) / (N_d (N_d − 1)).

If words are drawn independently from topics A (words × topics) with weights θ_d, then E[Q] =
A (Σ_d w_d θ_d θ_dᵀ) Aᵀ for all w that do not depend on the words drawn (Arora et al. 2013, Section
4.1). Where counts are not whole numbers, diag c² replaces diag c. Q is never formed: a product
with it is one pass over blocks of documents.

Weights of documents. With k topics the expectation of M = D Q D (`WordPairs`) has rank k. Let a be
the scaled expectation of a document of N words (E[a aᵀ] = M) and η its sampling noise, E‖η‖² =
p / N over p words. The part of (a + η)(a + η)ᵀ U outside the span of the eigenvectors U has
variance

    V(N) ∝ (κ + k / N) / N,   κ = E‖Uᵀa‖² = λ_1 + … + λ_k,

so the best weights are 1 / V(N). κ is between 1 and k; it is taken as `ENERGY`, since a measured
one is no better.

Burstiness. If the trace of M exceeds `BURSTY` κ, words repeat far more than topics explain, as in
natural language (a word that occurs once is likelier to occur again), and counts are capped at
`MOST_REPEATS`.

Noise level. Words are redrawn by the corpus's word frequencies while documents keep their lengths.
Only the first eigenvector of the signal survives, so the second eigenvalue is the noise edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus import WordCounts, by_rank, squared
from provenmf.budget import computed_once
from provenmf.data import MappedBlocks
from provenmf.linalg.norms import inverse_where_positive
from provenmf.linalg.products import product, transposed_product
from provenmf.linalg.spectral import Spectrum, with_fixed_signs

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]


class WordPairs:
    """Q as an operator, and M = D Q D with D = diag(Q 1 + mean of Q 1)^(−1/2).

    Without the mean, noise would have the same variance in all entries of M; but rare words then
    have separate eigenvectors: a few words that occur together in a few documents and
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
        weights = np.where(pairs > 0, 1.0 if weights is None else weights, 0.0)
        self.weights = weights / max(weights.sum(), np.finfo(float).tiny)
        self.per_pair = self.weights * inverse_where_positive(pairs)

    @computed_once
    def _sums_and_own(self) -> tuple[Floats, Floats]:
        """Return Q 1 and the diagonal of Σ_d w_d diag(c_d) / pairs_d."""
        factors = np.column_stack([self.per_pair * self.lengths, self.per_pair])
        with_pairs, own = self.counts.blocks.map_reduce(
            partial(weighted_sums, self.counts.whole), factors
        )
        sums = with_pairs - own
        return np.where(sums > 1e-12 * np.max(sums, initial=0.0), sums, 0.0), own

    @computed_once
    def scales(self) -> Floats:
        """Return the diagonal of D; zero for words without co-occurrences."""
        sums = self.row_sums
        used = sums > 0
        mean = sums.sum() / max(1, np.count_nonzero(used))
        return np.where(used, 1.0 / np.sqrt(sums + max(mean, np.finfo(float).tiny)), 0.0)

    @property
    def row_sums(self) -> Floats:
        """Q 1: the frequencies of the words, where documents count by their weights."""
        return self._sums_and_own[0]

    def scaled_product(self, right: AnyFloats) -> Floats:
        """Compute M @ right for a matrix (n_words, m) in one pass over the documents."""
        narrow = self.scales[:, None] * right
        together = self.counts.blocks.map_reduce(
            partial(beside, self.counts.rank, self.by_frequency(narrow)), self.per_pair
        )
        own = self._sums_and_own[1]
        beside_others = together[self.counts.rank] - own[:, None] * narrow
        return np.asarray(self.scales[:, None] * beside_others)

    def by_frequency(self, rows: Floats) -> NDArray[np.float32]:
        """Return the rows, one per word, in the order of `by_rank` and in single precision."""
        return np.ascontiguousarray(rows[self.counts.order], dtype=np.float32)

    def contexts_of_words(self, right: Floats) -> tuple[Floats, Floats]:
        """Sum the documents' contexts z_d = (D right)ᵀ c_d / (N_d − 1) for each word.

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
        """Return the sum of all eigenvalues of M."""
        factors = np.column_stack([self.per_pair, self.per_pair])
        _, squares = self.counts.blocks.map_reduce(partial(weighted_sums, False), factors)
        return float(self.scales**2 @ (squares - self._sums_and_own[1]))


def weighted_sums(whole: bool, block: sp.csr_array, factors: Floats) -> tuple[Floats, Floats]:
    """Return Σ_d c_d times the first factor, and Σ_d c_d (c_d² unless whole) times the second."""
    own = block if whole else squared(block)
    return np.asarray(block.T @ factors[:, 0]), np.asarray(own.T @ factors[:, 1])


def beside(
    rank: NDArray[np.int32], narrow: NDArray[np.float32], block: sp.csr_array, per_pair: Floats
) -> Floats:
    """Compute Σ_d w_d c_d c_dᵀ narrow / pairs_d over one block, words ordered by frequency."""
    counts = by_rank(rank, block)
    contexts = product(counts, narrow)
    contexts *= per_pair[:, None]
    return transposed_product(counts, contexts).astype(np.float64)


def sums_of_contexts(
    rank: NDArray[np.int32], narrow: NDArray[np.float32], block: sp.csr_array, factors: Floats
) -> tuple[Floats, Floats]:
    """Compute the sums of `WordPairs.contexts_of_words` over one block, words by frequency."""
    counts = by_rank(rank, block)
    contexts = product(counts, narrow)
    contexts *= factors[:, :1]
    squares = np.einsum("ij,ij->i", contexts, contexts)[:, None]
    ones = np.ones_like(squares)
    shares = factors[:, 1:]
    values = np.hstack([contexts, squares, ones]) * shares**2
    sums = transposed_product(squared(counts), values).astype(np.float64)
    return sums, transposed_product(counts, shares).astype(np.float64)


EXTRA = 10  # vectors beyond k, which speed up the last of the k
ACCURACY = 0.03  # residuals, as a fraction of the k-th eigenvalue; noise is larger
ROUGH = 0.1  # likewise, where many pairs are wanted
MOST_TOPICS = 100  # looked for when their number is not given
ENERGY = 3.0
BURSTY = 2.0
MOST_REPEATS = 3.0
WIDEST = 4


@dataclass(frozen=True, eq=False)
class WordSpectrum:
    """Leading eigenpairs of M.

    Attributes
    ----------
    pairs : WordPairs
        The operator, with the weights of the documents.
    values : array (k + 1,)
        Largest first; the last one is the first left out (NaN if there is none).
    vectors : array (n_words, k)
        Orthonormal columns: eigenvectors, or directions in the span of some.
    images : array (n_words, k)
        M times the vectors.
    capped : bool
        Whether counts above `MOST_REPEATS` were taken as that.
    """

    pairs: WordPairs
    values: Floats
    vectors: Floats
    images: Floats
    capped: bool

    def widened(self, more: int) -> WordSpectrum:
        """Return more eigenpairs, to a lower accuracy."""
        n_words, known = self.vectors.shape
        width = min(known + more, n_words)
        start = first_guess(self.vectors, width)
        return _spectrum(self.pairs, start, width, accuracy=ROUGH, capped=self.capped)

    def along(self, directions: Floats) -> WordSpectrum:
        """Return the spectrum in coordinates along unit directions (coordinates, fewer)."""
        vectors, images = self.vectors @ directions, self.images @ directions
        values = self.values[: directions.shape[1] + 1]
        return replace(self, vectors=vectors, images=images, values=values)


def word_spectrum(counts: WordCounts, k: int) -> WordSpectrum:
    """Return the k leading eigenpairs; of capped counts, if words repeat.

    Random numbers have a fixed seed: the same counts give the same answer.
    """
    n_words = counts.shape[1]
    k = min(k, n_words)
    start = first_guess(np.empty((n_words, 0)), k)
    pairs = WordPairs(counts, document_weights(counts, k))
    spectrum = _spectrum(pairs, start, k, accuracy=ACCURACY, capped=False)
    if pairs.trace() <= BURSTY * spectrum.values[:k].sum():
        return spectrum
    counts = counts.capped(MOST_REPEATS)
    pairs = WordPairs(counts, document_weights(counts, k))
    return _spectrum(pairs, spectrum.vectors, k, accuracy=ACCURACY, capped=True)


def first_guess(known: Floats, k: int) -> Floats:
    """Return columns to start from: the known ones and random ones, or all of the space.

    Random columns of all of the space can be dependent to single precision.
    """
    n_words, columns = known.shape
    if k + EXTRA >= n_words:
        return np.eye(n_words)
    drawn = np.random.default_rng(0).standard_normal((n_words, k + EXTRA - columns))
    return np.hstack([known, drawn])


def _spectrum(
    pairs: WordPairs, start: Floats, k: int, *, accuracy: float, capped: bool
) -> WordSpectrum:
    found = _eigenpairs(pairs, start, k, accuracy=accuracy)
    values = np.append(found.values[:k], found.values[k] if len(found.values) > k else np.nan)
    vectors = with_fixed_signs(found.vectors[:k]).T
    return WordSpectrum(pairs, values, vectors, vectors * found.values[:k], capped)


def document_weights(counts: WordCounts, k: int) -> Floats:
    """Return 1 / V(N) of each document, scaled to maximum one; 0 for at most one word."""
    lengths = counts.lengths
    noise = 1.0 / np.maximum(lengths, 1.0)
    weights = np.where(lengths > 1 + 1e-9, 1.0 / (noise * (ENERGY + k * noise)), 0.0)
    return weights / max(float(weights.max(initial=0.0)), np.finfo(float).tiny)


def noise_edge(spectrum: WordSpectrum) -> float:
    """Compute the second eigenvalue of the corpus with its words redrawn at random."""
    rng = np.random.default_rng(1)
    drawn = WordPairs(redrawn(spectrum.pairs.counts), spectrum.pairs.weights)
    n_words = drawn.counts.shape[1]
    start = rng.standard_normal((n_words, min(10, n_words)))
    values = _eigenpairs(drawn, start, min(2, n_words), accuracy=0.05).values
    return float(values[1]) if len(values) > 1 else 0.0


def number_of_topics(values: Floats, edge: float, following: float = 0.0) -> int:
    """Return the number of eigenvalues before the largest relative drop above the noise edge.

    The edge stands for eigenvalues below it; ``following`` comes after the last value. The first
    eigenvalue is large whatever the corpus, so that its own gap says nothing; one topic is the
    answer if no other is above the edge.
    """
    edge = max(edge, 0.0)
    above = int(np.count_nonzero(values > edge))
    if above < 2:
        return 1
    after = np.fmax(np.append(values[2:], following)[: above - 1], edge)
    return 2 + int(np.argmin(after / values[1:above]))


def redrawn(counts: WordCounts) -> WordCounts:
    """Return all occurrences drawn anew by the words' frequencies; documents keep their lengths.

    Counts that are not whole are rounded up. Outside memory every pass draws the same words again,
    because the stream of random numbers is advanced to the first word of a block.
    """
    lengths = counts.blocks.map_rows(rounded_lengths)
    before = np.cumsum(lengths) - lengths
    draw = partial(drawn_words, np.cumsum(counts.frequencies))
    drawn = WordCounts(MappedBlocks(counts.blocks, draw, rows=before.astype(np.int64)))
    return WordCounts(drawn.matrix) if counts.blocks.in_memory else drawn


def rounded_lengths(block: sp.csr_array) -> Floats:
    """Return the number of words of each document, counts rounded up."""
    rounded = sp.csr_array((np.ceil(block.data), block.indices, block.indptr), shape=block.shape)
    return np.asarray(rounded.sum(axis=1), dtype=np.float64)


def drawn_words(cumulated: Floats, block: sp.csr_array, before: NDArray[np.int64]) -> sp.csr_array:
    """Draw random words for a block of documents, keeping each document's length."""
    ends = np.concatenate([[0], np.cumsum(np.ceil(block.data))]).astype(np.int64)[block.indptr]
    stream = np.random.PCG64(1).advance(int(before[0]) if len(before) else 0)
    numbers = np.random.Generator(stream).random(ends[-1])
    words = np.searchsorted(cumulated[:-1], numbers, side="right").astype(np.int32)
    drawn = sp.csr_array((np.ones(len(words)), words, ends), shape=block.shape)
    drawn.sum_duplicates()
    return drawn


def _eigenpairs(pairs: WordPairs, start: Floats, k: int, *, accuracy: float) -> Spectrum:
    single = start.astype(np.float32)  # as the products are
    found = leading_eigenpairs_of(pairs.scaled_product, single, k, tol=accuracy)
    return replace(found, values=np.maximum(found.values, 0.0))


def leading_eigenpairs_of(
    product: Callable[[AnyFloats], AnyFloats],
    start: AnyFloats,
    k: int,
    *,
    tol: float = 1e-2,
    max_products: int = 40,
) -> Spectrum:
    """Return the k largest eigenpairs of a symmetric matrix, by block Lanczos with thick restarts.

    The basis grows by the residuals of the pairs that are not accurate yet (Knyazev & Argentati's
    span of Ritz vectors and residuals, kept over several steps) and is cut back to the leading Ritz
    vectors when it becomes `WIDEST` times as wide. One product serves all residuals at once: sparse
    data are read once a step.

    Parameters
    ----------
    product : callable
        Multiplies the matrix with an array (size, m).
    start : array (size, m)
        First guess of the subspace, m ≥ k; a few more columns than k speed it up. Its precision is
        that of the computation: single precision is enough for tol above 1e-4.
    k : int
        How many pairs.
    tol : float, default 0.01
        Stop when all residuals ‖M u − λ u‖ are at most tol · max(λ_k, λ_1 / 1000).
    max_products : int, default 40
        Largest number of products.

    Returns
    -------
    Spectrum
        With the residuals as `errors`; `converged` says whether tol was met. It holds as many
        pairs as start has columns, the first k to the accuracy asked for.
    """
    width = start.shape[1]
    basis = _orthonormal(_orthonormal(start))
    image = product(basis).astype(basis.dtype, copy=False)
    inner = basis.T @ image
    used = 1
    while True:
        values, turn = np.linalg.eigh((inner + inner.T).astype(np.float64) / 2)
        values = values[::-1][:width]
        turn = np.ascontiguousarray(turn[:, ::-1][:, :width], dtype=basis.dtype)
        vectors, images = basis @ turn, image @ turn
        residuals = images - vectors * values.astype(basis.dtype)
        errors = np.linalg.norm(residuals, axis=0).astype(np.float64)
        limit = tol * max(values[k - 1], values[0] / 1000)
        open_pairs = np.flatnonzero(errors > limit)
        converged = not np.any(open_pairs < k)
        if converged or used >= max_products:
            break
        if basis.shape[1] + len(open_pairs) > WIDEST * width:
            basis, image, inner = vectors, images, np.diag(values).astype(basis.dtype)
        new = _orthogonal_to(basis, residuals[:, open_pairs])
        if not new.shape[1]:
            break
        new_image = product(new).astype(basis.dtype, copy=False)
        beside = basis.T @ new_image
        inner = np.block([[inner, beside], [beside.T, new.T @ new_image]])
        basis, image = np.hstack([basis, new]), np.hstack([image, new_image])
        used += 1
    return Spectrum(values, vectors.T.astype(np.float64), errors, converged)


def _orthogonal_to(basis: AnyFloats, columns: AnyFloats) -> AnyFloats:
    """Return an orthonormal basis of the part of the columns orthogonal to the given basis.

    Ritz residuals are orthogonal to the basis but for rounding, so one projection is enough.
    """
    columns = _orthonormal(columns)
    return _orthonormal(columns - basis @ (basis.T @ columns))


def _orthonormal(columns: AnyFloats) -> AnyFloats:
    """Return orthonormal columns of the same span from the Gram matrix; drop dependent ones."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    values, turn = np.linalg.eigh((columns.T @ columns).astype(np.float64))
    kept = values > np.sqrt(np.finfo(columns.dtype).eps)
    scaled: AnyFloats = turn[:, kept] / np.sqrt(values[kept])
    return np.asarray(columns @ scaled.astype(columns.dtype))
