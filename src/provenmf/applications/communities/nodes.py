"""Nodes as the points among which pure ones are sought: rows of the eigenvectors, scaled or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.communities.embedding import Embedding
from provenmf.data import as_blocks
from provenmf.methods.separable.spa import spa

LEAST_WEIGHT = 0.02


def node_plane(
    embedding: Embedding, *, scale: bool
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The plane p·v = 1 that divides rows, zero if none does, and the nodes to search."""
    rows = embedding.vectors[embedding.kept]
    if not scale:
        return np.zeros(rows.shape[1]), embedding.kept
    anchors = spa(as_blocks(rows), rows.shape[1]).anchors
    assert anchors is not None  # SPA always chooses rows
    plane = np.linalg.lstsq(rows[anchors], np.ones(len(anchors)), rcond=None)[0]
    certain = embedding.kept[rows @ plane >= LEAST_WEIGHT]
    return plane.astype(np.float64), certain


def node_points(
    embedding: Embedding, plane: NDArray[np.float64], nodes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The matrix in which pure nodes are sought, a row for each of the nodes."""
    rows = embedding.vectors[nodes]
    return rows / (rows @ plane)[:, None] if plane.any() else rows
