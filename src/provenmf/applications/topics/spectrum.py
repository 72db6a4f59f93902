"""Leading eigenpairs of the words' co-occurrence, and how large noise alone would make them.

With k topics the expectation of M = D Q D (see `linalg.word_pairs`) has rank k; the rest is noise.

Weights of documents. In this scale let a be the expected vector of a document of N words (E[a aᵀ] =
M) and η its noise, with E‖η‖² = p (1/N + b) over p words: 1/N from drawing the words one by one,
b from what a document has of its own (a word that occurs once is likelier to occur again). What
spoils the eigenvectors U is the part of (a + η)(a + η)ᵀ U outside their span, with variance

    V(N) ∝ (1/N + b) (κ + k (1/N + b)),   κ = E‖Uᵀa‖² = λ_1 + … + λ_k.

The first term is a word beside a document's topics, the second noise beside noise. How topic
weights differ between documents is no noise: topics are found from whatever weights the documents
have. So the best weights are 1 / V(N). κ and b are measured on a first spectrum: p b is the trace
of M, which pairs of equal words add to, minus κ. Lengths count little beyond 1/b words.

Words that repeat. If the trace exceeds κ `BURSTY` times, words repeat far more than topics explain,
as in natural language, and counts above `MOST_REPEATS` are taken as that.

Noise level. Words are redrawn at random by the corpus's word frequencies, every document keeps its
length. Nothing but the first eigenvector is left of the signal; the second eigenvalue is the
noise edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.pairs import WordPairs
from provenmf.data.mapped import MappedBlocks
from provenmf.linalg.spectral import Spectrum, with_fixed_signs

# Leading eigenpairs of a symmetric operator, many at a time, to the accuracy asked for.
#
# Block Lanczos with thick restarts (Knyazev & Argentati's span of Ritz vectors and residuals, kept
# over several steps): the basis grows by the residuals of the pairs that are not accurate yet, and
# is cut back to the leading Ritz vectors when it becomes wide. One product with the operator serves
# all residuals at once, which is what makes sparse data fast: they are read once a step.

Floats = NDArray[np.float64]

WIDEST = 4  # the basis is cut back at so many times its first width


def leading_eigenpairs_of(
    product: Callable[[Floats], Floats],
    start: Floats,
    k: int,
    *,
    tol: float = 1e-2,
    max_products: int = 40,
) -> Spectrum:
    """The k algebraically largest eigenpairs of a symmetric matrix.

    Parameters
    ----------
    product : callable
        Multiplies the matrix with an array (size, m).
    start : array (size, m)
        First guess of the subspace, m ≥ k; a few more columns than k speed it up.
    k : int
        How many pairs.
    tol : float, default 0.01
        Stop when all residuals ‖M u − λ u‖ are at most tol · max(λ_k, λ_1 / 1000).
    max_products : int, default 40
        Stop anyway after so many products.

    Returns
    -------
    Spectrum
        With the residuals as `errors`; `converged` says whether tol was met. It holds as many
        pairs as start has columns, the first k to the accuracy asked for.
    """
    width = start.shape[1]
    basis = _orthonormal(_orthonormal(start))
    image = product(basis)
    inner = basis.T @ image
    used = 1
    while True:
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        values, turn = values[::-1][:width], np.ascontiguousarray(turn[:, ::-1][:, :width])
        vectors, images = basis @ turn, image @ turn
        residuals = images - vectors * values
        errors = np.linalg.norm(residuals, axis=0)
        limit = tol * max(values[k - 1], values[0] / 1000)
        open_pairs = np.flatnonzero(errors > limit)
        converged = not np.any(open_pairs < k)
        if converged or used >= max_products:
            return Spectrum(values, vectors.T, errors, converged)
        if basis.shape[1] + len(open_pairs) > WIDEST * width:
            basis, image, inner = vectors, images, np.diag(values)
        new = _orthogonal_to(basis, residuals[:, open_pairs])
        if not new.shape[1]:
            return Spectrum(values, vectors.T, errors, converged)
        new_image = product(new)
        beside = basis.T @ new_image
        inner = np.block([[inner, beside], [beside.T, new.T @ new_image]])
        basis, image = np.hstack([basis, new]), np.hstack([image, new_image])
        used += 1


def _orthogonal_to(basis: Floats, columns: Floats) -> Floats:
    """An orthonormal basis of what the columns add to an orthonormal basis."""
    for _ in range(2):  # twice is enough
        columns = _orthonormal(columns - basis @ (basis.T @ columns))
    return columns


def _orthonormal(columns: Floats) -> Floats:
    """Orthonormal columns with the same span, from the Gram matrix; dependent ones are dropped."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    values, turn = np.linalg.eigh(columns.T @ columns)
    kept = values > 1e-10
    return np.asarray(columns @ (turn[:, kept] / np.sqrt(values[kept])))


SAMPLE_DOCUMENTS = 20_000  # the first spectrum is that of so many documents
EXTRA = 10  # vectors beyond k, which speed up the last of the k
ACCURACY = 0.03  # residuals, as a fraction of the k-th eigenvalue; noise is larger
MOST_TOPICS = 100  # looked for when their number is not given
BURSTY = 2.0
MOST_REPEATS = 3.0
GUIDE = 2**16  # steps of the table that leads to a drawn word


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
        Orthonormal columns: eigenvectors, or directions in the span of some (see `coordinates`).
    images : array (n_words, k)
        M times the vectors.
    accuracy : float
        Largest residual ‖M u − λ u‖ of the k pairs.
    energy, burstiness : float
        κ and b of the documents' weights.
    capped : bool
        Whether counts above `MOST_REPEATS` were taken as that.
    n_parts : int
        k, or how many topics were joined in k directions.
    """

    pairs: WordPairs
    values: Floats
    vectors: Floats
    images: Floats
    accuracy: float
    energy: float
    burstiness: float
    capped: bool
    n_parts: int

    def leading(self, k: int) -> WordSpectrum:
        """The first k pairs."""
        vectors, images = self.vectors[:, :k], self.images[:, :k]
        values = self.values[: k + 1]
        return replace(self, vectors=vectors, images=images, values=values, n_parts=k)

    def along(self, directions: Floats) -> WordSpectrum:
        """Other coordinates: along some directions (coordinates, fewer) of unit length."""
        vectors, images = self.vectors @ directions, self.images @ directions
        values = self.values[: directions.shape[1] + 1]
        return replace(self, vectors=vectors, images=images, values=values)


def word_spectrum(counts: WordCounts, k: int, *, more: int = 0) -> WordSpectrum:
    """The k leading eigenpairs, documents weighed by what a first spectrum tells.

    Where words repeat, so many more. Random numbers have a fixed seed: the same counts give the
    same answer.
    """
    rng = np.random.default_rng(0)
    n_documents, n_words = counts.shape
    k = min(k, n_words)
    sample = counts
    if n_documents > SAMPLE_DOCUMENTS:
        chosen = np.sort(rng.choice(n_documents, SAMPLE_DOCUMENTS, replace=False))
        sample = WordCounts(counts.take(chosen))
    start = rng.standard_normal((n_words, min(k + EXTRA, n_words)))
    first = _first_spectrum(sample, start, k)
    capped = first.trace > BURSTY * first.energy
    if capped:
        counts = with_few_repeats(counts)
        first = _first_spectrum(with_few_repeats(sample), first.vectors, k)
    weights = document_weights(counts, k, energy=first.energy, burstiness=first.burstiness)
    pairs = WordPairs(counts, weights)
    if capped:
        k = min(k + more, n_words)
    found = _eigenpairs(pairs, first.vectors, k, accuracy=ACCURACY)
    values = np.append(found.values[:k], found.values[k] if len(found.values) > k else np.nan)
    vectors = with_fixed_signs(found.vectors[:k]).T
    images = vectors * found.values[:k]
    accuracy = float(found.errors[:k].max())
    return WordSpectrum(
        pairs,
        values,
        vectors,
        images,
        accuracy,
        energy=first.energy,
        burstiness=first.burstiness,
        capped=bool(capped),
        n_parts=k,
    )


def with_few_repeats(counts: WordCounts) -> WordCounts:
    """Counts of at most `MOST_REPEATS`."""
    return counts.capped(MOST_REPEATS)


@dataclass(frozen=True, eq=False)
class _FirstSpectrum:
    """What the weights of documents need to know."""

    vectors: Floats
    energy: float
    trace: float
    burstiness: float


def _first_spectrum(sample: WordCounts, start: Floats, k: int) -> _FirstSpectrum:
    """Eigenpairs to a low accuracy, with energy and burstiness guessed as 3 and 0."""
    pairs = WordPairs(sample, document_weights(sample, k, energy=3.0, burstiness=0.0))
    found = _eigenpairs(pairs, start, k, accuracy=0.1)
    energy, trace = float(found.values[:k].sum()), pairs.trace()
    own = max(0.0, trace - energy) / max(1, int(np.count_nonzero(pairs.row_sums)))
    return _FirstSpectrum(found.vectors.T, energy, trace, own)


def document_weights(counts: WordCounts, k: int, *, energy: float, burstiness: float) -> Floats:
    """1 / V(N) for each document, largest one; 0 for documents without words."""
    lengths = counts.lengths
    noise = 1.0 / np.maximum(lengths, 1.0) + burstiness
    weights = np.where(lengths > 1 + 1e-9, 1.0 / (noise * (energy + k * noise)), 0.0)
    return weights / max(float(weights.max(initial=0.0)), np.finfo(float).tiny)


def noise_edge(spectrum: WordSpectrum) -> float:
    """Second eigenvalue of the same corpus with its words redrawn."""
    rng = np.random.default_rng(1)
    drawn = WordPairs(redrawn(spectrum.pairs.counts), spectrum.pairs.weights)
    start = rng.standard_normal((drawn.n_words, min(10, drawn.n_words)))
    values = _eigenpairs(drawn, start, min(2, drawn.n_words), accuracy=0.05).values
    return float(values[1]) if len(values) > 1 else 0.0


def number_of_topics(values: Floats, edge: float, following: float = 0.0) -> int:
    """Where the eigenvalues above the noise edge fall by the largest factor.

    The edge stands for eigenvalues below it; ``following`` comes after the last value. The first
    eigenvalue is large whatever the corpus, so that its own gap says nothing; one topic is the
    answer if no other is above the edge.
    """
    above = int(np.count_nonzero(values > edge))
    if above < 2:
        return 1
    after = np.fmax(np.append(values[2:], following)[: above - 1], edge)
    return 2 + int(np.argmax(values[1:above] / after))


def redrawn(counts: WordCounts) -> WordCounts:
    """All occurrences drawn anew by the words' frequencies; documents keep their lengths.

    Counts that are not whole are rounded up. Nothing is kept: every pass draws the same words.
    """
    cumulated = np.cumsum(counts.frequencies)
    guide = np.searchsorted(cumulated, np.arange(GUIDE) / GUIDE, side="right").astype(np.int32)
    draw = partial(drawn_words, cumulated, np.minimum(guide, len(cumulated) - 1))
    return WordCounts(MappedBlocks(counts.blocks, draw, rows=np.arange(counts.shape[0])))


def drawn_words(
    cumulated: Floats,
    guide: NDArray[np.int32],
    block: sp.csr_array,
    documents: NDArray[np.int64],
) -> sp.csr_array:
    """As many words for each document of a block as it has; a word may be there several times."""
    from provenmf.applications.topics.kernels import draw_words_in_place

    ends = np.concatenate([[0], np.cumsum(np.ceil(block.data))]).astype(np.int64)[block.indptr]
    words = np.empty(ends[-1], dtype=np.int32)
    draw_words_in_place(ends, documents, cumulated, guide, words)
    return sp.csr_array((np.ones(len(words)), words, ends), shape=block.shape)


def _eigenpairs(pairs: WordPairs, start: Floats, k: int, *, accuracy: float) -> Spectrum:
    found = leading_eigenpairs_of(pairs.scaled_product, start, k, tol=accuracy)
    return replace(found, values=np.maximum(found.values, 0.0))
