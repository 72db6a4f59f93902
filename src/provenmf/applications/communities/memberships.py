"""Memberships of all nodes, from single pure nodes or from corners averaged over many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.communities.embedding import Embedding
from provenmf.applications.communities.node_errors import NodeModel, membership_error_bars
from provenmf.applications.communities.node_vertices import (
    LEAST_SHARE,
    averaged_corners,
    memberships_in_plane,
)
from provenmf.linalg.nnls import simplex_least_squares
from provenmf.linalg.scaling import rows_to_sum_one
from provenmf.results.error_bars import ErrorBars

HowMemberships = Literal["scaled", "simplex", "floored"]
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Members:
    """Memberships (n, k), nodes that nothing is known of, and what averaging adds to them."""

    memberships: NDArray[np.float64]
    undetermined: NDArray[np.bool_]
    n_averaged: NDArray[np.intp] | None = None
    error_bars: ErrorBars | None = None


def worth_averaging(embedding: Embedding) -> tuple[bool, list[str]]:
    """Whether the eigenvectors describe enough nodes to average over, and a note if not."""
    described = len(embedding.kept) / len(embedding.vectors)
    if described >= LEAST_SHARE:
        return True, []
    return False, [
        f"the leading eigenvectors describe {described:.0%} of the nodes: each community rests on "
        "its pure node alone"
    ]


def averaged_members(
    adjacency: sp.csr_array,
    embedding: Embedding,
    plane: NDArray[np.float64],
    nodes: NDArray[np.intp],
    anchors: NDArray[np.intp],
) -> Members:
    """Memberships on corners averaged over the nodes at them, with their error bars."""
    parts = adjacency, embedding.vectors, embedding.eigenvalues[:-1]
    corners, n_averaged, covariances = averaged_corners(*parts, nodes, anchors, plane)
    found, undetermined = memberships_in_plane(*parts[1:], corners, plane)
    model = NodeModel(*parts, plane, corners, covariances)
    bars = membership_error_bars(model, found, undetermined)
    return Members(found, undetermined, n_averaged, bars)


def memberships_of(
    vectors: NDArray[np.float64], pure: NDArray[np.intp], how: HowMemberships = "scaled"
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Memberships (n, k) of all nodes, and which nodes the eigenvectors say nothing about."""
    corners = vectors[pure]
    found: NDArray[Any]
    if how == "simplex":
        found = simplex_least_squares(corners @ corners.T, vectors @ corners.T)
        unknown = np.linalg.norm(vectors, axis=1) <= ROUNDING
    else:
        found = np.linalg.lstsq(corners.T, vectors.T, rcond=None)[0].T
        if how == "scaled":
            found[found < ROUNDING] = 0.0
        else:
            found = np.maximum(found, np.finfo(np.float64).eps)
        unknown = found.sum(axis=1) == 0
        found = rows_to_sum_one(found)
    if unknown.any() and not unknown.all():
        found[unknown] = found[~unknown].mean(axis=0)
    return found, np.asarray(unknown)
