"""Groups of near-identical rows, replaced by their means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput

# Groups of fewer rows are taken for accidents when there are enough larger ones.
LEAST_SIZE = 3
LEAST_RADIUS = 0.05


@dataclass(frozen=True, eq=False)
class Groups:
    """Means (groups, d), how many rows are behind each, and the first of them."""

    means: NDArray[np.float64]
    sizes: NDArray[np.intp]
    first: NDArray[np.intp]
    radius: float
    note: str


def group_rows(
    rows: NDArray[np.float64], n_components: int | None, *, radius: float | None = None
) -> Groups:
    """Put each row to the first leader within the radius, or make it a leader itself.

    The rows are compared in the coordinates of their leading right singular vectors, where most of
    the noise is gone. `radius` is a share of the root mean square length of a row; None takes 5 %,
    or twice the noise left in those coordinates, estimated from the singular values that follow,
    if that is more, and half of it as often as too few groups come out.
    """
    scale = math.sqrt(float(np.mean(np.einsum("ij,ij->i", rows, rows))))
    if scale == 0:
        raise InvalidInput("all rows are zero: nothing can be unmixed")
    dimensions = min(2 * (n_components or 10), *rows.shape)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    coordinates = rows @ vectors[:, ::-1][:, :dimensions]
    automatic = radius is None
    if radius is None:
        noise_per_dimension = max(float(values[:-dimensions].sum()), 0.0) / max(
            rows.size - dimensions * len(rows), 1
        )
        radius = max(LEAST_RADIUS, 2 * math.sqrt(2 * dimensions * noise_per_dimension) / scale)
    if radius <= 0:
        raise InvalidInput(f"group_radius={radius} must be more than 0")
    labels, first = _leaders(coordinates, radius * scale)
    wanted = min(2 * (n_components or 1), len(rows))
    while automatic and len(first) < wanted and radius > LEAST_RADIUS / 1000:
        radius /= 2
        labels, first = _leaders(coordinates, radius * scale)
    sizes = np.bincount(labels)
    sums = np.zeros((len(first), rows.shape[1]))
    np.add.at(sums, labels, rows)
    means = sums / sizes[:, None]
    kept = np.flatnonzero(sizes >= LEAST_SIZE)
    dropped = len(sizes) - len(kept)
    if len(kept) < max(2 * (n_components or 1), 10):
        kept, dropped = np.arange(len(sizes)), 0
    note = f"{len(rows)} rows were averaged in {len(kept)} groups of rows that differ by at most "
    note += f"{radius:.1%} of their length"
    if dropped:
        note += f"; {dropped} groups of fewer than {LEAST_SIZE} rows cannot become anchors"
    return Groups(means[kept], sizes[kept], first[kept], radius, note)


def _leaders(
    points: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Label of each point, and the point that leads each label; in the order of the points."""
    labels = np.full(len(points), -1, dtype=np.intp)
    free = np.arange(len(points))
    first: list[int] = []
    while len(free):
        leader = free[0]
        difference = points[free] - points[leader]
        near = np.einsum("ij,ij->i", difference, difference) <= radius**2
        near[0] = True
        labels[free[near]] = len(first)
        first.append(int(leader))
        free = free[~near]
    return labels, np.array(first, dtype=np.intp)
