"""Which k coordinates: in texts those in which topics keep to different documents.

Under the model the k leading eigenvectors span all that topics say about words. In texts there are
topics within topics, and eigenvalues go on without a gap. The subjects of a class with half of the
documents have eigenvalues as large as classes of a few documents, so that k coordinates show the
parts of the one and not the others. Neither eigenvalues nor likelihood can tell a topic from a part
of one, since both grow with the number of documents. What can is where they occur: parts of one
topic occur in the same documents, whatever their sizes.

So where the eigenvalues fall more after a later one than after the k-th, up to `MORE` topics more
than asked for are found, in as many coordinates. Those whose weights are most alike over the
documents (by the cosine) are joined, two at a time, until k are left. The vertex of a joined topic
is the mean of its parts' vertices, and the k coordinates are those in the span of these vertices:
directions in which parts of a topic differ are gone. Topics are found in them as usual. Of the
coordinates that begin with k, k + 1, … topics those are taken whose topics are least alike, by the
two that are most alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.document_posterior import infer_documents, topics_of
from provenmf.applications.topics.prior import sample_of_documents
from provenmf.applications.topics.spectrum import WordSpectrum, word_spectrum
from provenmf.applications.topics.word_points import word_points
from provenmf.applications.topics.word_vertices import anchors_by_spa, shares_at, vertices_at

Floats = NDArray[np.float64]

MORE = 4  # topics beyond those asked for
SLACK = 1e-4  # by which topics must be less alike to be preferred: rounding decides nothing


def topic_spectrum(counts: WordCounts, k: int) -> WordSpectrum:
    """Coordinates for k topics: the leading eigenpairs, or in texts what the module says."""
    wide = word_spectrum(counts, k, more=MORE)
    best, least = wide.leading(k), np.inf
    if k < 2 or falls_most_after(wide.values, k):
        return best
    sample, frequencies = sample_of_documents(counts), counts.frequencies
    for number in range(k, wide.vectors.shape[1] + 1):
        found = wide.leading(number)
        first = _first_topics(found, frequencies, sample)
        if first is None:
            break
        if number > k:
            groups = joined(first.weights, k)
            found = found.along(span_of(first.vertices, frequencies @ first.shares, groups))
            first = _first_topics(found, frequencies, sample)
        alike = np.inf if first is None else float(cosines(first.weights).max())
        if alike < (1 - SLACK) * least:
            best, least = found, alike
    return best


def falls_most_after(values: Floats, k: int) -> bool:
    """Whether no later one of these eigenvalues exceeds the next by a larger factor."""
    before, after = values[k - 1 : -1], values[k:]
    ratios = before / np.maximum(after, np.finfo(float).tiny)
    return not np.any(ratios[1:] > ratios[:1])  # there may be none, and the last may be unknown


class _Topics(NamedTuple):
    """Vertices (k, k), the words' shares on them (n_words, k), weights of some documents."""

    vertices: Floats
    shares: Floats
    weights: Floats


def _first_topics(
    spectrum: WordSpectrum, frequencies: Floats, sample: sp.csr_array
) -> _Topics | None:
    """Topics in these coordinates, or None where too few words have places of their own."""
    words, k = word_points(spectrum), spectrum.vectors.shape[1]
    anchors = anchors_by_spa(words)
    if len(anchors) < k:
        return None
    vertices = vertices_at(words, anchors).points
    shares = shares_at(words, vertices, frequencies)
    weights = infer_documents(sample, topics_of(shares, frequencies), np.full(k, 1.0 / k))
    return _Topics(vertices, shares, weights)


def cosines(weights: Floats) -> Floats:
    """Cosines between every two columns (k, k), −1 on the diagonal."""
    unit = weights / np.maximum(np.linalg.norm(weights, axis=0), np.finfo(float).tiny)
    found = unit.T @ unit
    np.fill_diagonal(found, -1.0)
    return np.asarray(found)


def joined(weights: Floats, n_groups: int) -> list[list[int]]:
    """Groups of columns: the two that are most alike are added until so many are left."""
    groups = [[column] for column in range(weights.shape[1])]
    weights = weights.copy()
    while len(groups) > n_groups:
        table = cosines(weights)
        first, second = sorted(np.unravel_index(table.argmax(), table.shape))
        weights[:, first] += weights[:, second]
        weights = np.delete(weights, second, axis=1)
        groups[first] += groups.pop(second)
    return groups


def span_of(vertices: Floats, sizes: Floats, groups: Sequence[Sequence[int]]) -> Floats:
    """An orthonormal basis (coordinates, groups) of the groups' mean vertices, by their sizes."""
    sizes = np.maximum(sizes, np.finfo(float).tiny)
    means = np.array([sizes[group] @ vertices[group] / sizes[group].sum() for group in groups])
    return np.asarray(np.linalg.qr(means.T)[0])
