"""Vertices: the points behind the anchors, averaged over all rows that lie at them.

An anchor is one row, with all of its noise. Other rows are nearly pure too, and their mean is
closer to the vertex. Rows come with standard errors e_i, one number for all coordinates; with the
vertices V at hand, row x has barycentric coordinates

    b = 1/k + (x − v̄) (V − v̄)⁺,   sd(b_j) = e_i s_j,   s_j = length of column j of (V − v̄)⁺.

A row is a member of vertex j if b_j is known well (its error is at most `KNOWN`), lies between
1 − inner and 1 + outer standard errors of row and vertex together, and differs from one by less
than `FARTHEST`. The vertex becomes the mean of its members, weighted by 1 / e_i². Pure rows lie on
both sides of one, mixed rows on the inner side only: a narrower inner side keeps them out, but too
narrow a one prefers rows that noise has pushed outwards, and the vertices then wander off. Anchors
are such rows, so the first round is wide.

Related: smoothed SPA (Nadisic, Gillis & Kervazo 2023) takes the median or mean of the rows nearest
to each direction, successive vertex search (Jin, Ke & Luo 2024) those of k-means centres, and SPACL
(Mao, Sarkar & Chakrabarti 2021) prunes rows first. All of these fix the number of rows to average;
here each row's own error decides, so that with more data fewer mixed rows are taken along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from provenmf.blocks import Block, Blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import squared_row_norms
from provenmf.storage import as_dense

Floats = NDArray[np.float64]

WIDE = 3.0
KNOWN = 0.25
FARTHEST = 0.4  # a row whose coordinate differs from one by more is never a member
FLATTEST = 0.25  # of the first simplex's least width; a flatter one has lost a vertex


@dataclass(frozen=True, eq=False)
class Vertices:
    """Averaged vertices.

    Attributes
    ----------
    points : array (k, d)
        The vertices.
    errors : array (k,)
        Their standard errors, from those of their members.
    n_members : array (k,)
        How many rows each is the mean of; 0 where the start stayed.
    n_rounds : int
        Rounds made until the members did not change any more.
    members : array (n, k) of bool
        Which rows each vertex is the mean of.
    """

    points: Floats
    errors: Floats
    n_members: NDArray[np.intp]
    n_rounds: int
    members: NDArray[np.bool_]


def average_vertices(
    blocks: Blocks,
    anchors: ArrayLike,
    errors: ArrayLike | None = None,
    *,
    anchors_off: float = 1.0,
    inner: float = 1.0,
    outer: float = WIDE,
    max_rounds: int = 10,
) -> Vertices:
    """Vertices behind anchors.

    Parameters
    ----------
    blocks : Blocks
        Rows, each a mixture of k vertices with weights that sum to one, plus noise.
    anchors : array of int (k,)
        Rows close to the vertices, from a separable method.
    errors : array (n,), optional
        Standard error of each row's coordinates. By default one number for all rows, measured as
        the rows' distance from the affine span of the anchors; needs more columns than k − 1.
    anchors_off : float, default 1
        How far from their vertices anchors may be, in standard errors of a coordinate times 3.
        The most extreme of many rows is farther off than a row taken at random.
    inner, outer : float
        Width of the membership in standard errors, towards the other vertices and away from them.
        The first round takes 3 for both.
    max_rounds : int, default 10
        Rounds of finding members and averaging, two passes over the data each.
    """
    rows = np.asarray(anchors, dtype=np.intp)
    points = as_dense(blocks.take(rows)).astype(np.float64)
    members = np.zeros((blocks.n_rows, len(points)), dtype=bool)
    if len(points) < 2:
        return Vertices(points, np.zeros(len(points)), members.sum(axis=0), 0, members)
    given = _span_errors(blocks, points) if errors is None else np.asarray(errors, dtype=float)
    if given.shape != (blocks.n_rows,) or not np.all(given >= 0):
        raise InvalidInput(
            f"errors of shape {given.shape} must hold one number ≥ 0 for each of the "
            f"{blocks.n_rows} rows"
        )
    precisions = 1.0 / np.maximum(given, 1e-9 * (given.max() or 1.0)) ** 2
    vertex_errors = anchors_off * given[rows]
    finished = 0
    widths = (WIDE, WIDE)
    flattest = FLATTEST * _least_width(points)
    while finished < max_rounds:
        found = _members(blocks, points, given, vertex_errors, widths)
        if finished > 1 and np.array_equal(found, members):
            break
        finished += 1
        widths = (inner, outer)
        members = found
        shares = members * precisions[:, None]
        totals = shares.sum(axis=0)
        sums = blocks.map_reduce(lambda block, s: np.asarray((block.T @ s).T), shares)
        some = totals > 0
        moved = np.where(some[:, None], sums / np.where(some, totals, 1.0)[:, None], points)
        if _least_width(moved) < flattest:
            break
        points = moved
        # The members were chosen around the old vertex, so its error is not forgotten at once.
        averaged = 1.0 / np.sqrt(np.where(some, totals, 1.0))
        vertex_errors = np.where(some, np.maximum(averaged, vertex_errors / 2), vertex_errors)
    return Vertices(points, vertex_errors, members.sum(axis=0), finished, members)


def lean_of_members(
    vertices: Vertices, errors: Floats, *, inner: float = 1.0, outer: float = WIDE
) -> Floats:
    """How far (k, d) unequal widths move the mean of members that are all pure.

    Normal noise cut at −inner and outer standard errors has a mean of its own, along the direction
    in which the barycentric coordinate grows, and the next round cuts around that mean. Mixed
    members move it the other way, so that this is the most that choosing adds to an error.
    """
    matrix, _ = barycentric(vertices.points)
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), np.finfo(float).tiny)
    mean = 0.0
    for _ in range(30):
        low, high = mean - inner, mean + outer
        mean = float((norm.pdf(low) - norm.pdf(high)) / (norm.cdf(high) - norm.cdf(low)))
    number = np.maximum(vertices.n_members, 1)
    return np.asarray(((mean * (errors @ vertices.members) / number / lengths) * matrix).T)


def barycentric(points: Floats) -> tuple[Floats, Floats]:
    """(matrix, offset) with b = x @ matrix + offset for the vertices in the rows of points."""
    centre = points.mean(axis=0)
    # The k moved vertices span k − 1 directions: rounding must not pass for the last one.
    matrix = np.linalg.pinv(points - centre, rcond=1e-9)
    return matrix, 1.0 / len(points) - centre @ matrix


def _least_width(points: Floats) -> float:
    """Smallest singular value of the simplex moved to its centre."""
    return float(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[len(points) - 2])


def _members(
    blocks: Blocks,
    points: Floats,
    errors: Floats,
    vertex_errors: Floats,
    widths: tuple[float, float],
) -> NDArray[np.bool_]:
    matrix, offset = barycentric(points)
    lengths = np.linalg.norm(matrix, axis=0)

    def of_block(block: Block, error: Floats) -> NDArray[np.bool_]:
        coordinates = np.asarray(block @ matrix) + offset
        known = error[:, None] * lengths <= KNOWN
        spread = np.maximum(np.hypot(error[:, None], vertex_errors) * lengths, 1e-9)
        beyond = (coordinates - 1.0) / spread
        near = (beyond >= -widths[0]) & (beyond <= widths[1])
        return np.asarray(known & near & (np.abs(coordinates - 1.0) < FARTHEST))

    return blocks.map_rows(of_block, errors)


def _span_errors(blocks: Blocks, points: Floats) -> Floats:
    """One standard error for all rows: root mean square distance from the affine span."""
    free = blocks.n_columns - len(points) + 1
    if free < 1:
        raise InvalidInput(
            f"vertices of {len(points)} anchors in {blocks.n_columns} columns: the noise cannot "
            "be measured where anchors span the whole space; give the rows' errors"
        )
    centre = points.mean(axis=0)
    directions = np.linalg.svd(points - centre, full_matrices=False)[2][: len(points) - 1]

    def outside(block: Block) -> float:
        inside = np.asarray(block @ directions.T) - centre @ directions.T
        across = np.asarray(block @ centre)
        total = squared_row_norms(block) - 2 * across + centre @ centre
        return float(np.maximum(total - (inside**2).sum(axis=1), 0.0).sum())

    squared = float(blocks.map_reduce(outside)) / (blocks.n_rows * free)
    return np.full(blocks.n_rows, np.sqrt(squared))
