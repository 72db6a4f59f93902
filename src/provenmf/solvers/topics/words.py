"""Words as points: where each word stands among the topics, and how well that is known.

With M = D Q D ≈ U Λ Uᵀ, the point of word w is row w of D U Λ: row w of Q divided by its sum, in
the coordinates D U. It is the mean of what stands beside the word in its documents, so that

    point_w = Σ_t p(t | w) vertex_t,

the first coordinate is 1 for all words, and a word of one topic lies at a vertex. The mean is over
documents d with shares g_d ∝ w_d c_dw / N_d and their contexts z_d = D U c_d / (N_d − 1). Its
variance follows from the spread of the contexts (as for any weighted mean), per coordinate:

    e_w² = s_w² / n_w,   n_w = (Σ g)² / Σ g²,   s_w² = Σ g² ‖z_d − point_w‖² / (Σ g² (k − 1)),

s_w² shrunk towards the mean of all words as if that had been seen in `PRIOR_DOCUMENTS` documents.
n_w is the number of documents that the word's point rests on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.scaling import inverse_where_positive
from provenmf.solvers.topics.spectrum import WordSpectrum

Floats = NDArray[np.float64]

PRIOR_DOCUMENTS = 10.0
CLEAR = 10.0  # a candidate's squared distance from the centre is so many times its variance


@dataclass(frozen=True, eq=False)
class WordPoints:
    """Points of the words.

    Attributes
    ----------
    points : array (n_words, k)
        The first column is 1.
    errors : array (n_words,)
        Standard error of a coordinate; infinite for words that never occur beside another.
    n_documents : array (n_words,)
        The effective number of documents n_w behind each point.
    """

    points: Floats
    errors: Floats
    n_documents: Floats


def word_points(spectrum: WordSpectrum) -> WordPoints:
    """Points and standard errors of all words."""
    pairs, vectors = spectrum.pairs, spectrum.vectors
    k = vectors.shape[1]
    points = pairs.scales[:, None] * vectors * spectrum.values[:k]
    points = points * inverse_where_positive(points[:, :1])
    contexts = pairs.contexts(vectors) / np.maximum(pairs.lengths - 1.0, 1.0)[:, None]
    spread_of = np.column_stack([(contexts[:, 1:] ** 2).sum(axis=1), np.ones(len(contexts))])
    sums = pairs.sums_over_documents(np.hstack([contexts[:, 1:], spread_of]), power=2)
    inner, squared, shares = sums[:, :-2], sums[:, -2], sums[:, -1]
    beside = np.einsum("ij,ij->i", inner, points[:, 1:])
    lengths = (points[:, 1:] ** 2).sum(axis=1)
    spread = np.maximum(squared - 2 * beside + lengths * shares, 0.0)
    totals = pairs.sums_over_documents(np.ones((len(contexts), 1)))[:, 0]
    n_documents = totals**2 * inverse_where_positive(shares)
    pooled = spread.sum() / max(shares.sum(), np.finfo(float).tiny)
    own = spread * inverse_where_positive(shares)
    variance = PRIOR_DOCUMENTS * pooled + n_documents * own
    variance /= (PRIOR_DOCUMENTS + n_documents) * max(1, k - 1)
    with np.errstate(divide="ignore"):
        errors = np.where(n_documents > 0, np.sqrt(variance / n_documents), np.inf)
    return WordPoints(points, errors, n_documents)


def anchor_candidates(words: WordPoints) -> NDArray[np.intp]:
    """Words that may become anchors: those whose place is known well enough.

    Let r² be the mean squared distance from the centre, less its noise, of the k farthest
    candidates. A candidate's variance (over all coordinates) is at most r² / CLEAR. Where too
    few words are known so well, the best known ones are taken: 10 for each topic if there are.
    """
    k = words.points.shape[1]
    usable = np.flatnonzero(np.isfinite(words.errors))
    order = usable[np.argsort(words.errors[usable], kind="stable")]
    variance = np.maximum(k - 1, 1) * words.errors[order] ** 2
    distances = (words.points[order, 1:] ** 2).sum(axis=1) - variance
    # From the worst known word down: stop at the first bound that its own candidates satisfy.
    number = len(order)
    fewest = min(len(order), 10 * k)
    while number > fewest:
        farthest = np.partition(distances[:number], number - k)[number - k :]
        allowed = max(float(farthest.mean()), 0.0) / CLEAR
        fitting = int(np.searchsorted(variance[:number], allowed, side="right"))
        if fitting >= number:
            break
        number = max(fewest, fitting, number // 2)
    return np.sort(order[:number])
