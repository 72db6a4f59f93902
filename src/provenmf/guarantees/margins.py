"""How far each anchor is from the hull of all other rows: the noise that it provably survives.

If anchor k is farther than 2 delta from the hull of all other rows (near-duplicates of it left
out), then it is an anchor under *every* explanation whose noise is at most delta in each row. For
suppose not: then its clean row is a mixture of other clean rows, and the same mixture of the data
rows is within 2 delta of row k. If moreover every row lies within delta of the hull of the anchors,
none is missing beyond delta: the explanation certifies itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.linalg.hull import distances_to_hulls
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.records import Check, Status
from provenmf.storage import as_dense

Floats = NDArray[np.float64]


def anchor_margins(
    blocks: Blocks,
    anchors: Floats,
    *,
    radius: float,
    scale: float,
    divisors: Floats | None = None,
    with_origin: bool = False,
    max_iter: int = 200,
) -> tuple[Floats, Floats]:
    """Bounds lower <= distance <= upper of each anchor to the hull of the other rows.

    Parameters
    ----------
    anchors : the rows themselves, dense, divided like the others where `divisors` are given.
    radius : rows within this distance of an anchor are its near-duplicates and left out.
    scale : length of the longest row; differences of 1e-12 of it are rounding.
    divisors : one number per row by which it is divided; rows with none above zero are left out.
    with_origin : count the origin as a further row, for weights that sum to at most one.
    """
    factors = np.ones(blocks.n_rows) if divisors is None else inverse_where_positive(divisors)
    radius = max(radius, 1e-12 * scale)
    squared = squared_row_norms(anchors)

    def duplicate(block: Block, factor: Floats) -> NDArray[np.bool_]:
        cross = np.asarray(block @ anchors.T, dtype=np.float64) * factor[:, None]
        lengths = squared_row_norms(block) * factor**2
        near = lengths[:, None] + squared - 2 * cross <= radius**2 + 1e-13 * scale**2
        return near | (factor == 0)[:, None]

    left_out = blocks.map_rows(duplicate, factors)

    def farthest(which: NDArray[np.intp], directions: Floats) -> tuple[Floats, Floats]:
        best, rows = np.full(len(which), -np.inf), np.zeros(len(which), dtype=np.intp)

        def score(block: Block, factor: Floats) -> Floats:
            return np.asarray(block @ directions.T, dtype=np.float64) * factor[:, None]

        for start, stop, along in blocks.each(score, factors):
            along[left_out[start:stop, which]] = -np.inf
            place = along.argmax(axis=0)
            value = along[place, np.arange(len(which))]
            better = value > best
            best[better], rows[better] = value[better], start + place[better]
        points = as_dense(blocks.take(rows)).astype(np.float64) * factors[rows, None]
        if with_origin:
            behind = best < 0
            best[behind], points[behind] = 0.0, 0.0
        return best, points

    return distances_to_hulls(anchors, farthest, max_iter=max_iter)


def check_margins(residual: float, lower: Floats, upper: Floats) -> Check:
    """Whether the explanation certifies itself: every anchor survives the noise that it claims."""
    status: Status = "unknown"
    if lower.min() > 2 * residual:
        status = "holds"
    elif upper.min() <= 2 * residual:
        status = "fails"
    return Check(
        "anchors survive the residual",
        "margin",
        status,
        value=2 * residual,
        threshold=float(lower.min()),
        note="twice the largest residual, against the least distance of an anchor to other rows",
    )
