"""Coordinates in which topics from anchor words keep to different documents.

Under the model the k leading eigenvectors span all that topics say about words. In texts there are
topics within topics: subtopics of a frequent topic have eigenvalues as large as those of rare
topics. Subtopics occur in the same documents, whatever their sizes. So where the eigenvalues drop
more after a later one than after the k-th, up to `MORE` additional topics are found, those with the
most similar document weights are joined until k are left, and the k coordinates are the span of the
joined vertices. Among the coordinates that start with k, k + 1, … topics those with the least
similar pair of topics win.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import WordSpectrum
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import (
    infer_documents,
    sample_of_documents,
    topics_of,
)
from provenmf.applications.topics.points import anchors_by_spa, shares_at, vertices_at, word_points

Floats = NDArray[np.float64]

MORE = 4  # topics beyond those asked for
SLACK = 1e-4  # by which topics must be less alike to be preferred: rounding decides nothing


def anchor_spectrum(counts: WordCounts, wide: WordSpectrum, k: int) -> WordSpectrum:
    """Return the k coordinates for topics from anchor words; see the module."""
    wide = wide.leading(min(k + MORE, wide.vectors.shape[1]))
    best, least = wide.leading(k), np.inf
    if k < 2 or not wide.capped or falls_most_after(wide.values, k):
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
    """Return whether no later one of these eigenvalues exceeds the next by a larger factor."""
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
    """Return topics in these coordinates, or None where too few words have distinct points."""
    words, k = word_points(spectrum), spectrum.vectors.shape[1]
    anchors = anchors_by_spa(words)
    if len(anchors) < k:
        return None
    vertices = vertices_at(words, anchors).points
    shares = shares_at(words, vertices, frequencies)
    weights = infer_documents(sample, topics_of(shares, frequencies), np.full(k, 1.0 / k))
    return _Topics(vertices, shares, weights)


def cosines(weights: Floats) -> Floats:
    """Return the cosines between every two columns (k, k), −1 on the diagonal."""
    unit = weights / np.maximum(np.linalg.norm(weights, axis=0), np.finfo(float).tiny)
    found = unit.T @ unit
    np.fill_diagonal(found, -1.0)
    return np.asarray(found)


def joined(weights: Floats, n_groups: int) -> list[list[int]]:
    """Return groups of columns: the two most similar are added until `n_groups` are left."""
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
    """Return an orthonormal basis (coordinates, groups) of the groups' weighted mean vertices."""
    sizes = np.maximum(sizes, np.finfo(float).tiny)
    means = np.array([sizes[group] @ vertices[group] / sizes[group].sum() for group in groups])
    return np.asarray(np.linalg.qr(means.T)[0])
