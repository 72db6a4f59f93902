"""Vertices: the points behind the anchors, averaged over all rows that lie at them.

An anchor is one row, with all of its noise. Other rows are nearly pure too, and their mean is
closer to the vertex. Rows come with standard errors e_i, one number for all coordinates; with the
vertices V at hand, row x has barycentric coordinates

    b = 1/k + (x − v̄) (V − v̄)⁺,   sd(b_j) = e_i s_j,   s_j = length of column j of (V − v̄)⁺.

A row is a member of vertex j if b_j is known well (its error is at most `known`), lies between
1 − inner and 1 + outer standard errors of row and vertex together, and differs from one by less
than `farthest`. The vertex becomes the mean of its members, weighted by 1 / e_i². Pure rows lie on
both sides of one, mixed rows on the inner side only: a narrower inner side keeps them out, but too
narrow a one prefers rows that noise has pushed outwards, and the vertices then wander off. Anchors
are such rows, so the first round is wide.

For weights that need not sum to one but are at most that, as SPA's model allows, the origin is one
more vertex, known without error: b = x V⁺. For weights of any size rows are first divided by their
sums (`factors`), and their errors too.

Related: smoothed SPA (Nadisic, Gillis & Kervazo 2023) takes the mean or median of the rows farthest
along each direction, successive vertex search (Jin, Ke & Luo 2024) searches k-means centres, and
SPACL (Mao, Sarkar & Chakrabarti 2021) prunes lonely rows first. All of these fix the number of rows
to average or to prune; here each row's own error decides, so that with more data fewer mixed rows
are taken along. Figures are in `benchmarks/EXPERIMENTS.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from provenmf.data import Block, Blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.storage import as_dense, numbers

Floats = NDArray[np.float64]

ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Settings:
    """Which rows are members of a vertex, compared in `benchmarks/EXPERIMENTS.md`."""

    # Standard errors away from the other vertices, and towards them in the first round.
    wide: float = 3.0
    # A row with a larger error of its coordinate, or whose coordinate differs from one by more, is
    # never a member.
    known: float = 0.25
    farthest: float = 0.4
    # Share of the first simplex's least width; a flatter one has lost a vertex.
    flattest: float = 0.25


SETTINGS = Settings()


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
    members : array (n, k) of bool
        Which rows each vertex is the mean of.
    """

    points: Floats
    errors: Floats
    n_members: NDArray[np.intp]
    members: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """Rows, a factor for each, and the standard error of its entries after multiplication.

    with_origin : whether weights may sum to less than one, the origin being a vertex too.
    """

    blocks: Blocks
    factors: Floats
    errors: Floats
    with_origin: bool

    def members(
        self, points: Floats, point_errors: Floats, widths: tuple[float, float]
    ) -> NDArray[np.bool_]:
        """Find the rows (n, k) that lie at each of the points."""
        matrix, offset = barycentric(points, with_origin=self.with_origin)
        lengths = np.linalg.norm(matrix, axis=0)

        def of_block(block: Block, factor: Floats, error: Floats) -> NDArray[np.bool_]:
            coordinates = np.asarray(block @ matrix) * factor[:, None] + offset
            known = (error[:, None] * lengths <= SETTINGS.known) & (factor > 0)[:, None]
            spread = np.maximum(np.hypot(error[:, None], point_errors) * lengths, 1e-9)
            beyond = (coordinates - 1.0) / spread
            near = (beyond >= -widths[0]) & (beyond <= widths[1])
            return np.asarray(known & near & (np.abs(coordinates - 1.0) < SETTINGS.farthest))

        return self.blocks.map_rows(of_block, self.factors, self.errors)

    def means(self, members: NDArray[np.bool_], precisions: Floats) -> tuple[Floats, Floats]:
        """Return weighted means (k, d) of the members, zero for none, and total precisions."""
        shares = members * precisions[:, None]
        totals = shares.sum(axis=0)
        scaled = shares * self.factors[:, None]
        sums = self.blocks.map_reduce(lambda block, s: np.asarray((block.T @ s).T), scaled)
        return sums / np.where(totals > 0, totals, 1.0)[:, None], totals


def average_vertices(
    blocks: Blocks,
    anchors: ArrayLike,
    errors: ArrayLike | None = None,
    *,
    factors: Floats | None = None,
    with_origin: bool = False,
    anchors_off: float = 1.0,
    inner: float = 1.0,
    max_rounds: int = 10,
) -> Vertices:
    """Average the rows that lie at the vertices behind anchors.

    Parameters
    ----------
    blocks : Blocks
        Rows, each a mixture of k vertices with weights that sum to one, plus noise.
    anchors : array of int (k,)
        Rows close to the vertices, from a separable method.
    errors : array (n,), optional
        Standard error of each row's coordinates. By default measured as the rows' distance from
        the span of the anchors (`span_errors`); needs columns outside of that span.
    factors : array (n,), optional
        What each row is multiplied by first, such as one over its sum; `errors` are those before.
        Rows with zero are not looked at.
    with_origin : bool, default False
        Whether weights may sum to less than one.
    anchors_off : float, default 1
        How far from their vertices anchors may be, in standard errors of a coordinate times 3.
        The most extreme of many rows is farther off than a row taken at random.
    inner : float
        Width of the membership towards the other vertices, in standard errors.
    max_rounds : int, default 10
        Rounds of finding members and averaging, two passes over the data each.
    """
    chosen = np.asarray(anchors, dtype=np.intp)
    scales = np.ones(blocks.n_rows) if factors is None else factors
    points = as_dense(blocks.take(chosen)).astype(np.float64) * scales[chosen, None]
    members = np.zeros((blocks.n_rows, len(points)), dtype=bool)
    if len(points) < 2:
        return Vertices(points, np.zeros(len(points)), members.sum(axis=0), members)
    if errors is None:
        given = span_errors(blocks, points, scales, with_origin)
    else:
        given = scales * _checked_errors(errors, blocks.n_rows)
    rows = NoisyRows(blocks, scales, given, with_origin)
    precisions = 1.0 / np.maximum(given, 1e-9 * (given.max() or 1.0)) ** 2
    vertex_errors = anchors_off * given[chosen]
    widths = (SETTINGS.wide, SETTINGS.wide)
    flattest = SETTINGS.flattest * _least_width(points, with_origin)
    for finished in range(max_rounds):
        found = rows.members(points, vertex_errors, widths)
        if finished > 1 and np.array_equal(found, members):
            break
        means, totals = rows.means(found, precisions)
        some = totals > 0
        moved = np.where(some[:, None], means, points)
        if _least_width(moved, with_origin) < flattest:
            break
        widths = (inner, SETTINGS.wide)
        points, members = moved, found
        # The members were chosen around the old vertex, so its error is not forgotten at once.
        averaged = 1.0 / np.sqrt(np.where(some, totals, 1.0))
        vertex_errors = np.where(some, np.maximum(averaged, vertex_errors / 2), vertex_errors)
    return Vertices(points, vertex_errors, members.sum(axis=0), members)


def lean_of_members(vertices: Vertices, errors: Floats) -> Floats:
    """Return how far (k, d) unequal widths move the mean of members that are all pure.

    Normal noise cut at −1 and `wide` standard errors has a nonzero mean along the direction
    in which the barycentric coordinate grows, and the next round cuts around that mean. Mixed
    members move it the other way, so that this is the most that choosing adds to an error.
    """
    matrix, _ = barycentric(vertices.points)
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), np.finfo(float).tiny)
    mean = 0.0
    for _ in range(30):
        low, high = mean - 1.0, mean + SETTINGS.wide
        mean = float((norm.pdf(low) - norm.pdf(high)) / (norm.cdf(high) - norm.cdf(low)))
    number = np.maximum(vertices.n_members, 1)
    return np.asarray(((mean * (errors @ vertices.members) / number / lengths) * matrix).T)


def barycentric(points: Floats, *, with_origin: bool = False) -> tuple[Floats, Floats]:
    """Return (matrix, offset) with b = x @ matrix + offset for the vertices in `points`.

    With the origin as one more vertex its own coordinate, 1 − Σ b, is left out.
    """
    centre = np.zeros(points.shape[1]) if with_origin else points.mean(axis=0)
    # The k moved vertices span k − 1 directions: rounding must not pass for the last one.
    matrix = np.linalg.pinv(points - centre, rcond=1e-9)
    return matrix, (0.0 if with_origin else 1.0 / len(points)) - centre @ matrix


def _least_width(points: Floats, with_origin: bool) -> float:
    """Return the smallest singular value of the vertices, relative to their mean or the origin."""
    if with_origin:
        return float(np.linalg.svd(points, compute_uv=False)[-1])
    return float(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[len(points) - 2])


def _checked_errors(errors: ArrayLike, n_rows: int) -> Floats:
    given = numbers(errors, "row_errors").astype(np.float64)
    if given.shape != (n_rows,) or not np.all((given >= 0) & np.isfinite(given)):
        raise InvalidInput(
            f"row_errors of shape {given.shape} must hold one number ≥ 0 for each of the {n_rows} "
            "rows"
        )
    return given


def span_errors(blocks: Blocks, points: Floats, factors: Floats, with_origin: bool) -> Floats:
    """Estimate standard errors (n,) of the scaled rows from their distances to a span.

    The span of the points is affine, or linear with the origin as a vertex. The noise of a row is
    the same for all rows; where rows are divided by their sums, it may also grow with the sum or
    with its root, as that of counts does: the likeliest of the three is taken.
    """
    free = blocks.n_columns - len(points) + (0 if with_origin else 1)
    if free < 1:
        raise InvalidInput(
            f"vertices of {len(points)} anchors in {blocks.n_columns} columns: the noise cannot be "
            "measured where anchors span the whole space; give the rows' errors (row_errors)"
        )
    centre = np.zeros(blocks.n_columns) if with_origin else points.mean(axis=0)
    directions = np.linalg.svd(points - centre, full_matrices=False)[2]
    directions = directions[: blocks.n_columns - free]

    def outside(block: Block, factor: Floats) -> Floats:
        inside = np.asarray(block @ directions.T) * factor[:, None] - centre @ directions.T
        across = np.asarray(block @ centre) * factor
        largest = squared_row_norms(block) * factor**2 + centre @ centre
        squared = largest - 2 * across - (inside**2).sum(axis=1)
        squared = np.maximum(squared, ROUNDING * largest)  # a difference has no more digits
        seen = factor > 0
        squared, factor = squared[seen], factor[seen]
        logarithm = np.log(factor).sum()
        return np.array(
            [*((squared / factor**power).sum() for power in (2, 1, 0)), logarithm, len(factor)]
        )

    *sums, logarithm, seen = blocks.map_reduce(outside, factors).tolist()
    variances = np.array(sums) / (max(1.0, seen) * free)
    if not variances.all():  # rows of zeros alone
        return np.zeros(blocks.n_rows)
    powers = np.array([2.0, 1.0, 0.0])
    likeliest = int(np.argmin(np.log(variances) + powers * logarithm / max(1.0, seen)))
    return np.asarray(np.sqrt(variances[likeliest] * factors ** powers[likeliest]))
