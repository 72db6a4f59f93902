"""Clusters of rows by direction, as they are: what is measured before any theorem about cones.

How far apart their axes are, how clearly the farthest-first angles speak for their number, and how
many of the rows lie in cones that satisfy Liu17's inequality (1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.blocks.rows import by_row
from provenmf.guarantees.caps import cosines_to_own_axis, direction_sums
from provenmf.guarantees.cone_model import PAPER
from provenmf.guarantees.fit import Fit
from provenmf.linalg.angles import angle_at_least, angle_at_most
from provenmf.linalg.norms import SAFE_LENGTHS
from provenmf.linalg.scaling import unit_rows
from provenmf.records import Check, Measure
from provenmf.storage import as_dense


@dataclass(frozen=True)
class Clusters:
    """Clusters that have rows, numbered without gaps, and the lengths of all rows.

    labels : −1 for rows in no cluster. energy : ‖X_k‖² of each cluster. sizes : its number of rows.
    outside : Σ ‖x‖² of the rows in no cluster; strays : how many of them are not zero.
    """

    labels: NDArray[np.intp]
    lengths: NDArray[np.float64]
    energy: NDArray[np.float64]
    sizes: NDArray[np.int64]
    outside: float
    strays: int


def measured_clusters(fit: Fit) -> Clusters:
    """Lengths of the rows, and what they add up to in each cluster."""
    found = fit.factorization.labels
    if found is None or found.shape != fit.lengths.shape:
        found = np.full(len(fit.lengths), -1, dtype=np.intp)
    squared = fit.lengths**2
    long = fit.lengths > SAFE_LENGTHS[0]  # shorter rows count as zero: their squares underflow
    directed = (found >= 0) & long
    _, members, sizes = np.unique(found[directed], return_inverse=True, return_counts=True)
    labels = np.full(len(squared), -1, dtype=np.intp)
    labels[directed] = members
    energy = np.bincount(members, squared[directed], minlength=sizes.size).astype(np.float64)
    strays = int(np.count_nonzero(long & ~directed))
    return Clusters(labels, fit.lengths, energy, sizes, float(squared[~directed].sum()), strays)


def stray_rows(clusters: Clusters) -> tuple[Check, ...]:
    """Rows that are not zero and belong to no cluster, if there are any."""
    if not clusters.strays:
        return ()
    note = f"{clusters.strays} rows that are not zero belong to no cluster"
    return (Check("every row in a cluster", f"{PAPER} Algorithm 1", "fails", note=note),)


def rows_apart(clusters: Clusters, fit: Fit) -> dict[str, Measure]:
    """Rows of zeros; if rows have one weight each, rows coded outside their cluster."""
    directed = clusters.labels >= 0
    apart: dict[str, Measure] = {"rows_without_direction": float(np.count_nonzero(~directed))}
    used, largest = by_row(_coding, fit.given_rows)[directed].T
    if used.max() <= 1:
        elsewhere = largest != np.asarray(fit.factorization.labels)[directed]
        apart["rows_coded_outside_their_cluster"] = float(np.count_nonzero(elsewhere))
    return apart


def _coding(weights: NDArray[np.floating]) -> NDArray[np.intp]:
    """How many components each row uses, and which one most."""
    return np.column_stack([np.count_nonzero(weights, axis=1), weights.argmax(axis=1)])


def centroid_angles(fit: Fit) -> NDArray[np.float64]:
    """angles[j] is the angle of centroid j to the nearest one before it, angles[0] = π/2.

    The last of the k + 1 angles is the largest of any row to its nearest centroid. Empty if the
    result does not name one nonzero row for each component.
    """
    rows, n = fit.factorization.anchors, fit.blocks.n_rows
    if rows is None or len(rows) != fit.n_components or not len(rows):
        return np.empty(0)
    if rows.min() < 0 or rows.max() >= n or (fit.lengths[rows] <= SAFE_LENGTHS[0]).any():
        return np.empty(0)
    centroids = unit_rows(as_dense(fit.blocks.take(rows)))

    def nearest(block: Block, length: NDArray[np.float64]) -> NDArray[np.float64]:
        largest = np.asarray(block @ centroids.T, dtype=np.float64).max(axis=1)
        long = length > SAFE_LENGTHS[0]
        return np.where(long, largest / np.where(long, length, 1.0), 1.0)

    among = [(centroids[j] @ centroids[:j].T).max() for j in range(1, len(rows))]
    last = fit.blocks.map_rows(nearest, fit.lengths).min()
    return np.asarray(np.arccos(np.clip([0.0, *among, last], 0.0, 1.0)))


def gap_of_the_angles(angles: NDArray[np.float64]) -> dict[str, Measure]:
    """How clearly the farthest-first angles speak for k cones, from k + 1 of them.

    The last centroid was chosen at the first measure, no row is farther from its centroid than the
    second; the third compares this drop with the largest one before it: above 1 it is larger.
    """
    if not angles.size:
        return {}
    drops = angles[:-1] - angles[1:]
    before = float(drops[:-1].max(initial=0.0))
    gap: dict[str, Measure] = {
        "angle_of_last_centroid": float(angles[-2]),
        "largest_angle_to_centroid": float(angles[-1]),
    }
    if before > 0:
        gap["drop_over_largest_drop_before"] = float(drops[-1]) / before
    return gap


def core_of_the_clusters(blocks: Blocks, clusters: Clusters) -> dict[str, Measure]:
    """How nearly inequality (1) holds: the share of the rows that lie in cones satisfying it.

    Axes are the mean directions of the clusters, all cones get the same size angle, a quarter of
    the smallest angle between two axes. Theorem 4 is true of the rows inside, without the others.
    """
    sums = direction_sums(blocks, clusters.labels, clusters.lengths, clusters.sizes.size)
    axes = unit_rows(sums)
    size = smallest(axis_angles(axes)) / 4
    cosines = cosines_to_own_axis(blocks, clusters.labels, clusters.lengths, axes)
    inside = (clusters.labels >= 0) & (angle_at_most(cosines, blocks.n_columns) < size)
    squared = clusters.lengths**2
    return {
        "core_size_angle": size,
        "core_share_of_rows": float(np.count_nonzero(inside) / clusters.sizes.sum()),
        "core_share_of_energy": float(squared[inside].sum() / squared.sum()),
    }


def axis_angles(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pairwise angles of the axes, not more than the true ones; infinite on the diagonal."""
    between = angle_at_least(axes @ axes.T, axes.shape[1])
    np.fill_diagonal(between, np.inf)
    return between


def smallest(between: NDArray[np.float64]) -> float:
    """The smallest angle of two different axes; infinite for one axis."""
    return float(between.min())
