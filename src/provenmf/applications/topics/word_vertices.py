"""Anchor words, the vertices around them, and the shares of all words on the vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.document_posterior import topic_shares_of_words
from provenmf.applications.topics.word_points import WordPoints, anchor_candidates, cautious_points
from provenmf.data import as_blocks
from provenmf.methods.separable.spa import spa
from provenmf.methods.separable.vertices import Vertices, average_vertices

Floats = NDArray[np.float64]


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
