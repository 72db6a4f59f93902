"""Leading eigenpairs of the words' co-occurrence, and how large noise alone would make them.

M = D Q D (see `linalg.word_pairs`) has the eigenvalue 1 with the vector √(Q 1). With k topics
its expectation has rank k; the rest is sampling noise, nearly white in this scale.

Weights of documents. In this scale let a be the expected vector of a document of N words (E[a aᵀ] =
M) and η its noise, with E‖η‖² = p (1/N + b) over p words: 1/N from drawing the words one by one,
b from what a document has of its own (a word that occurs once is likelier to occur again). What
spoils the eigenvectors U is the part of (a + η)(a + η)ᵀ U outside their span, with variance

    V(N) ∝ (1/N + b) (κ + k (1/N + b)),   κ = E‖Uᵀa‖² = λ_1 + … + λ_k.

The first term is a word beside a document's topics, the second noise beside noise. How topic
weights differ between documents is no noise: topics are found from whatever weights the documents
have. So the best weights are 1 / V(N). κ and b are measured on a first spectrum: p b is the trace
of M, which pairs of equal words add to, minus κ. Lengths count little beyond 1/b words.

Noise level. Words are redrawn at random, every document keeps its length and the corpus its word
frequencies. Nothing but the first eigenvector is left of the signal; the largest eigenvalue beside
it is the noise edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.linalg.block_lanczos import leading_eigenpairs_of
from provenmf.linalg.spectral import Spectrum, with_fixed_signs
from provenmf.linalg.word_pairs import WordPairs

Floats = NDArray[np.float64]

SAMPLE_DOCUMENTS = 20_000  # the first spectrum is that of so many documents
EXTRA = 10  # vectors beyond k, which speed up the last of the k
ACCURACY = 0.03  # residuals, as a fraction of the k-th eigenvalue; noise is larger


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
        Orthonormal columns; the first is √(Q 1).
    accuracy : float
        Largest residual ‖M u − λ u‖ of the k pairs.
    energy, burstiness : float
        κ and b of the documents' weights.
    """

    pairs: WordPairs
    values: Floats
    vectors: Floats
    accuracy: float
    energy: float
    burstiness: float


def word_spectrum(counts: sp.csr_array, k: int, rng: np.random.Generator) -> WordSpectrum:
    """The k leading eigenpairs, documents weighed by what a first spectrum tells."""
    n_documents, n_words = counts.shape
    k = min(k, n_words)
    sample = counts
    if n_documents > SAMPLE_DOCUMENTS:
        sample = counts[np.sort(rng.choice(n_documents, SAMPLE_DOCUMENTS, replace=False))]
    first = WordPairs(sample, document_weights(sample, k, energy=3.0, burstiness=0.0))
    start = rng.standard_normal((n_words, min(k + EXTRA, n_words)))
    guess = _eigenpairs(first, start, k, accuracy=0.1)
    energy = float(guess.values[:k].sum())
    own = max(0.0, first.trace() - energy) if first.own_is_count else 0.0
    burstiness = own / max(1, int(np.count_nonzero(first.row_sums)))
    weights = document_weights(counts, k, energy=energy, burstiness=burstiness)
    pairs = WordPairs(counts, weights)
    found = _eigenpairs(pairs, guess.vectors.T, k, accuracy=ACCURACY)
    values = np.append(found.values[:k], found.values[k] if len(found.values) > k else np.nan)
    vectors = with_fixed_signs(found.vectors[:k]).T
    return WordSpectrum(pairs, values, vectors, float(found.errors[:k].max()), energy, burstiness)


def document_weights(counts: sp.csr_array, k: int, *, energy: float, burstiness: float) -> Floats:
    """1 / V(N) for each document, largest one; 0 for documents without words."""
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
    noise = 1.0 / np.maximum(lengths, 1.0) + burstiness
    weights = np.where(lengths > 1, 1.0 / (noise * (energy + k * noise)), 0.0)
    return weights / max(float(weights.max(initial=0.0)), np.finfo(float).tiny)


def noise_edge(pairs: WordPairs, counts: sp.csr_array, rng: np.random.Generator) -> float:
    """Largest eigenvalue, beside the first, of the same corpus with its words redrawn."""
    drawn = WordPairs(redrawn(counts, rng), pairs.weights)
    trivial = np.sqrt(drawn.row_sums)[:, None]
    trivial /= np.linalg.norm(trivial)

    def product(right: Floats) -> Floats:
        return drawn.scaled_product(right) - trivial @ (trivial.T @ right)

    start = rng.standard_normal((drawn.n_words, min(8, drawn.n_words)))
    return float(leading_eigenpairs_of(product, start, 1, tol=0.02).values[0])


def number_of_topics(values: Floats, edge: float) -> int:
    """Where the eigenvalues above the noise edge fall by the largest factor.

    The edge stands for eigenvalues below it. The first eigenvalue is one whatever the corpus, so
    that its own gap says nothing; one topic is the answer if no other is above the edge.
    """
    above = int(np.count_nonzero(values > edge))
    if above < 2:
        return 1
    following = np.maximum(np.append(values[2:], 0.0)[: above - 1], edge)
    return 2 + int(np.argmax(values[1:above] / following))


def redrawn(counts: sp.csr_array, rng: np.random.Generator) -> sp.csr_array:
    """All occurrences shuffled among the documents, whose lengths stay (fractions rounded up)."""
    repeats = np.ceil(counts.data).astype(np.intp)
    words = np.repeat(counts.indices, repeats)
    rng.shuffle(words)
    ends = np.concatenate([[0], np.cumsum(repeats)])[counts.indptr]
    shuffled = sp.csr_array((np.ones(len(words)), words, ends), shape=counts.shape)
    shuffled.sum_duplicates()
    return shuffled


def _eigenpairs(pairs: WordPairs, start: Floats, k: int, *, accuracy: float) -> Spectrum:
    """Leading eigenpairs; the first vector is known."""
    known = np.sqrt(pairs.row_sums)[:, None]
    start = np.hstack([known, start[:, 1:]]) if start.shape[1] > 1 else known
    found = leading_eigenpairs_of(
        pairs.scaled_product_by_frequency, pairs.to_frequency_order(start), k, tol=accuracy
    )
    vectors = pairs.as_given(np.ascontiguousarray(found.vectors.T)).T
    return Spectrum(found.values, vectors, found.errors, found.converged)
