"""Words as points, anchor words, and the vertices around them.

Points. With M = D Q D ≈ U Λ Uᵀ, the point of word w is row w of Q divided by its sum, in the
coordinates D U: row w of D⁻¹ U Λ over (Q 1)_w. It is the mean context of the word,

    point_w = Σ_t p(t | w) vertex_t,

and a word of one topic lies at a vertex. The mean is over documents d with shares g_d ∝ w_d c_dw /
N_d and contexts z_d = D U c_d / (N_d − 1), so its variance follows from their spread, per
coordinate:

    e_w² = s_w² / n_w,   n_w = (Σ g)² / Σ g²,   s_w² = Σ g² ‖z_d − point_w‖² / (Σ g² k),

with s_w² shrunk towards the mean of all words with the weight of `PRIOR_DOCUMENTS` documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import WordSpectrum
from provenmf.applications.topics.inference import (
    topic_shares_of_words,
)
from provenmf.data import as_blocks
from provenmf.linalg.norms import inverse_where_positive
from provenmf.methods.separable.spa import spa
from provenmf.methods.separable.vertices import Vertices, average_vertices

Floats = NDArray[np.float64]

PRIOR_DOCUMENTS = 10.0
CLEAR = 2.0  # the farthest candidates are so many times as far as noise reaches


@dataclass(frozen=True, eq=False)
class WordPoints:
    """Points of the words.

    Attributes
    ----------
    points : array (n_words, k)
        Row w of Q over its sum, in k coordinates.
    centre : array (k,)
        Mean of the points, by the words' frequencies.
    errors : array (n_words,)
        Standard error of a coordinate; infinite for words that never occur beside another.
    n_documents : array (n_words,)
        The effective number of documents n_w behind each point.
    """

    points: Floats
    centre: Floats
    errors: Floats
    n_documents: Floats


def word_points(spectrum: WordSpectrum) -> WordPoints:
    """Points and standard errors of all words."""
    pairs, vectors = spectrum.pairs, spectrum.vectors
    frequencies, k = pairs.row_sums, vectors.shape[1]
    scales = inverse_where_positive(frequencies * pairs.scales)
    points = scales[:, None] * spectrum.images
    sums, plain = pairs.contexts_of_words(vectors)
    inner, squared, shares = sums[:, :-2], sums[:, -2], sums[:, -1]
    along = np.einsum("ij,ij->i", inner, points)
    spread = np.maximum(squared - 2 * along + (points**2).sum(axis=1) * shares, 0.0)
    n_documents = plain**2 * inverse_where_positive(shares)
    pooled = spread.sum() / max(shares.sum(), np.finfo(float).tiny)
    variance = PRIOR_DOCUMENTS * pooled + n_documents * spread * inverse_where_positive(shares)
    variance /= (PRIOR_DOCUMENTS + n_documents) * k
    known = (n_documents > 0) & (frequencies > 0)
    errors = np.full(len(points), np.inf)
    errors[known] = np.sqrt(variance[known] / n_documents[known])
    centre = frequencies @ points / max(frequencies.sum(), np.finfo(float).tiny)
    return WordPoints(points, centre, errors, n_documents)


def points_without(spectrum: WordSpectrum, documents: NDArray[np.intp]) -> Floats:
    """Points of the words in the same coordinates, from all documents but these.

    Words that occur in no other document get the centre.
    """
    weights = spectrum.pairs.weights.copy()
    weights[documents] = 0.0
    pairs = spectrum.pairs.weighted(weights)
    rescaled = spectrum.pairs.scales * inverse_where_positive(pairs.scales)
    scales = inverse_where_positive(pairs.row_sums * pairs.scales)
    points = scales[:, None] * pairs.scaled_product(rescaled[:, None] * spectrum.vectors)
    points[scales == 0] = pairs.row_sums @ points
    return points


def reach(words: WordPoints) -> float:
    """How many standard errors the farthest of so many words is off: √k + √(2 log words).

    For Gaussian noise, k coordinates and the largest of n lengths.
    """
    known = max(2, int(np.count_nonzero(np.isfinite(words.errors))))
    return float(np.sqrt(words.points.shape[1]) + np.sqrt(2 * np.log(known)))


def anchor_candidates(words: WordPoints) -> NDArray[np.intp]:
    """Words that may become anchors: those whose place is known well enough.

    Let r² be the mean squared distance from the centre, less its noise, of the k farthest
    candidates. A candidate's error times `reach` is at most r / CLEAR. Where too few words are
    known so well, the best known ones are taken: 10 for each topic if there are.
    """
    k = words.points.shape[1]
    usable = np.flatnonzero(np.isfinite(words.errors))
    order = usable[np.argsort(words.errors[usable], kind="stable")]
    errors = words.errors[order]
    distances = ((words.points[order] - words.centre) ** 2).sum(axis=1) - k * errors**2
    # From the worst known word down: stop at the first bound that its own candidates satisfy.
    number = len(order)
    fewest = min(len(order), 10 * k)
    while number > fewest:
        farthest = np.partition(distances[:number], number - k)[number - k :]
        allowed = np.sqrt(max(float(farthest.mean()), 0.0)) / (CLEAR * reach(words))
        fitting = int(np.searchsorted(errors[:number], allowed, side="right"))
        if fitting >= number:
            break
        number = max(fewest, fitting, number // 2)
    return np.sort(order[:number])


def cautious_points(words: WordPoints, candidates: NDArray[np.intp]) -> Floats:
    """Points of candidates moved towards the centre by `reach` times their errors.

    They are moved by half of their distance at most, as in a corpus too small to know any place.
    What is left of a distance is not due to noise. Separable methods look for extreme rows, and
    among many rows of unequal noise the most extreme ones are the noisiest.
    """
    outwards = words.points[candidates] - words.centre
    lengths = np.linalg.norm(outwards, axis=1)
    off = reach(words) * words.errors[candidates]
    left = np.maximum(1.0 / CLEAR, 1.0 - off * inverse_where_positive(lengths))
    return words.centre + left[:, None] * outwards


def anchors_by_spa(words: WordPoints) -> NDArray[np.intp]:
    """As many anchor words as the points have coordinates; fewer where SPA finds no more."""
    if not np.isfinite(words.errors).any():
        return np.empty(0, dtype=np.intp)
    candidates = anchor_candidates(words)
    number = min(words.points.shape[1], len(candidates))
    found = spa(as_blocks(cautious_points(words, candidates)), number).anchors
    assert found is not None  # SPA always chooses rows
    return candidates[found]


def vertices_at(words: WordPoints, anchors: NDArray[np.intp]) -> Vertices:
    """Vertices averaged around the anchor words."""
    known = np.flatnonzero(np.isfinite(words.errors))
    # Contexts vary most along their vertex, so that the error there is larger than the mean error
    # of a coordinate: the inner width of 2.5 is about 1.5 of its own (docs/decisions.md).
    return average_vertices(
        as_blocks(words.points[known]),
        np.searchsorted(known, anchors),
        words.errors[known],
        anchors_off=3.0,
        inner=2.5,
        max_rounds=20,
    )


def shares_at(words: WordPoints, vertices: Floats, frequencies: Floats) -> Floats:
    """p(topic | word) (n_words, k) by the points.

    Words that never stand beside another one say nothing: they get the mean of the others.
    """
    known = np.isfinite(words.errors)
    shares = topic_shares_of_words(words.points, vertices)
    shares[~known] = frequencies[known] @ shares[known] / frequencies[known].sum()
    return shares
