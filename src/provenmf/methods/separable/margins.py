"""Explanations of the data by anchors, and margins: the noise each anchor provably survives.

With C the chosen rows, every row is a point of what the model allows plus noise (`Explanation`),

    x_i = y_i + v_i,   y_i in   conv(C)          "hull"        FastAnchor, MERIT
                                conv(C and 0)    "hull and 0"  SPA
                                cone(C)          "cone"        XRAY, FastGradient

and ‖v_i‖ is measured, rounded up. Anchors have v = 0. With `scale_rows` all of this is about the
rows divided by their sums. Lengths are those of the data divided by `fit.unit`.

Margins speak of every explanation with noise of some size. The margin of an anchor is its distance
to the hull of the other rows.

Let S be row k and the rows within a radius of it. If row k is farther than 2 delta from the hull of
all rows outside S, then under *every* explanation whose noise is at most delta in each row some row
of S is an anchor. For suppose not: then the clean row k is a mixture of clean rows outside S, and
the same mixture of the data rows is within 2 delta of row k.

With S = {k} this says that row k itself is an anchor. It cannot be said of row k alone when others
are left out: of two equal rows either may be moved inwards a little and leave the corner to the
other. The radius is therefore part of the statement; it is the distance of the farthest row that
was left out, zero where all of them are exact copies.

Rows may differ in their noise: let row i have noise at most delta_i. If row k is farther than
delta_k from the hull of the balls around the rows outside S with these radii, the same follows: for
a unit u the clean row k has <., u> at least <x_k, u> − delta_k, clean rows outside S have at most
max_i <x_i, u> + delta_i, the support function of that hull, and so do their mixtures. The corner
of that anchor is its clean row: with radius r it lies within r + max delta_i of row k, i in S.
Small S name the anchor, larger ones bound how far its corner is from row k where noise is strong.

If moreover every row lies within delta of the hull of the anchors, none is missing beyond delta:
the explanation certifies itself. A margin below twice the noise that every explanation of this rank
has in some row (Eckart & Young) is vacuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks, Rows
from provenmf.linalg.hull import Model, distances_to_hulls, product_rounding
from provenmf.linalg.norms import inverse_where_positive, unit_rows
from provenmf.linalg.storage import as_dense
from provenmf.results import Certificate, Check, Measure, Status
from provenmf.results.certificate import SCALED, rounded_down, rounded_up

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# A row counts as explained without noise up to this share of its own length: rounding of the data.
EXACT = 1e-7
# Where the squared residual of a sparse row is expanded, it is at least 1e-6 of the squared
# lengths in it (smaller ones are measured entry by entry), so that its root loses three digits.
EXPANDED = 1e3
ARE_ROWS = "components are rows of the data"
MARGIN = "anchors survive the residual"
ANCHOR = "a row taken as a pure example of a component"
# Rows this near to an anchor, as a share of its own length, count as copies that rounding changed.
COPY = 1e-12
ROUNDING = 1e-11  # more than rounding can change in the few operations on measured quantities


@dataclass(frozen=True)
class Settings:
    """Which rows count as copies of an anchor, and what margins may cost."""

    near: float = 0.1  # rows within this share of the typical residual cannot be told apart
    columns: int = 5000  # some corners are kept for each anchor as dense rows
    passes: int = 50  # over the data
    radii: int = 7  # tried for the distances of corners


SETTINGS = Settings()


class Explanation:
    """Anchors, and an upper bound of the distance of every row from what they explain.

    anchors : their row numbers; components : the rows themselves, divided where `scaled`.
    distances, lengths : of all rows; weights : (n, k) of the points y, left where the rows are.
    factors : one over the sums of the rows where `scaled`, zero where a sum is not positive.
    """

    def __init__(self, fit: Fit, model: Model, *, scale_rows: bool = False) -> None:
        assert fit.factorization.anchors is not None  # methods that choose rows always have anchors
        self.fit, self.model, self.scaled = fit, model, scale_rows
        self.anchors = fit.factorization.anchors
        self.components = as_dense(fit.blocks.take(self.anchors)).astype(np.float64)
        self.factors = inverse_where_positive(fit.divisors) if scale_rows else None
        self.lengths = fit.lengths if self.factors is None else fit.lengths * self.factors
        if self.factors is not None:
            self.components = self.components * self.factors[self.anchors, None]
        found, self.weights = self._nearest()
        self.distances = found * (1 + product_rounding(self.components.shape[1])) + self._slack()
        self.distances[self.anchors] = 0.0
        if self.factors is not None:
            self.distances[self.factors == 0] = 0.0

    def _nearest(self) -> tuple[Floats, Rows]:
        """Return distances and weights of the nearest points.

        Those of the fit where its components are these rows and its weights are of the model: the
        distance is then that of the explanation at hand, which is never less.
        """
        fit = self.fit
        same = not self.scaled and np.allclose(fit.components, self.components, rtol=1e-12, atol=0)
        if same and fit.weights_are_of(self.model):
            return fit.residuals, fit.weight_rows
        return fit.nearest_to(self.components, self.model, scale_rows=self.scaled)

    def _slack(self) -> Floats:
        """Bound rounding errors of the distances, and how far weights are off the simplex."""
        k, d = self.components.shape
        corners = np.linalg.norm(self.components, axis=1)
        reach = self.lengths + self.weights.array(lambda weights: weights @ corners)
        terms = product_rounding(k) + product_rounding(d) * (2 if self.scaled else 1)
        slack = terms * (EXPANDED if self.fit.blocks.is_sparse else 1.0) * reach
        if self.model != "cone":
            excess = self.weights.array(lambda weights: weights.sum(axis=1)) - 1
            off = np.abs(excess) if self.model == "hull" else np.maximum(excess, 0.0)
            slack += off * corners.max()
        return np.asarray(slack)

    @property
    def scale(self) -> float:
        """Length of the longest row; one for data of zeros."""
        return float(self.lengths.max()) or 1.0

    @property
    def largest(self) -> float:
        """Largest distance of a row."""
        return float(self.distances.max())

    @property
    def typical(self) -> float:
        """Median distance of a row."""
        return float(np.median(self.distances))

    @property
    def largest_share(self) -> float | None:
        """Largest distance of a row as a share of that row's own length.

        None if a row of zeros, or next to zero, is not explained: no share says how badly.
        """
        with np.errstate(divide="ignore", over="ignore"):
            shares = self.distances / np.where(self.distances > 0, self.lengths, 1.0)
        largest = float(shares.max(initial=0.0))
        return largest if np.isfinite(largest) else None

    @property
    def unit(self) -> float:
        """Factor by which a length is multiplied before it is reported."""
        return 1.0 if self.scaled else self.fit.unit

    @property
    def of_rows(self) -> str:
        """Words of a note if it speaks of rows divided by their sums."""
        return "; all rows divided by their sums" if self.scaled else ""


def other_components(fit: Fit) -> Certificate | None:
    """Return a certificate that fails if components are not the rows that the anchors name."""
    anchors = fit.factorization.anchors
    n = fit.given.n_rows
    note = ""
    if anchors is None or anchors.shape != (fit.n_components,) or anchors.dtype.kind not in "iu":
        note = "the result does not name one row for each component"
    elif anchors.size and (anchors.min() < 0 or anchors.max() >= n):
        note = f"the data have {n} rows, but rows up to {anchors.max()} are named as anchors"
    elif not vertices_asked_for(fit):
        different = moved_components(fit)
        if different.any():
            k = int(np.flatnonzero(different)[0])
            note = f"component {k} is not row {anchors[k]}"
    if not note:
        return None
    note += ": nothing about anchors can be said; give the data that the result was made from"
    words = "The components are not the rows of these data that the result calls anchors."
    check = Check(ARE_ROWS, "definition", "fails", note=note, in_words=words)
    return Certificate(fit.method, checks=(check,))


def vertices_asked_for(fit: Fit) -> bool:
    """Return whether the components were to be means of rows around the anchors."""
    return bool(fit.factorization.parameters.get("vertices"))


def moved_components(fit: Fit) -> NDArray[np.bool_]:
    """Find the components (k,) that are not the rows which the anchors name."""
    assert fit.factorization.anchors is not None  # asked for valid anchors only
    rows = as_dense(fit.given.take(fit.factorization.anchors))
    return np.asarray((rows != fit.factorization.components).any(axis=1))


def vertices_are_no_rows(fit: Fit) -> tuple[Check, ...]:
    """Return the failed check for components that are means of rows around the anchors."""
    if not vertices_asked_for(fit) or not moved_components(fit).any():
        return ()
    note = (
        "vertices were asked for, means of rows around the anchors; all that is said of anchors is "
        "about rows of the data, not about the components"
    )
    words = (
        "The components are not the anchors themselves, which are rows of the data; what is said "
        "of anchors is about these rows alone."
    )
    return (Check(ARE_ROWS, "margin", "fails", note=note, in_words=words),)


@dataclass(frozen=True)
class Margins:
    """lower <= distance <= upper of each anchor to the hull of the rows outside its radius.

    Infinite where there is no such row. left_out : rows beside the anchor itself that lie within
    the radius of some anchor; radius : distance of the farthest of them, rounded up; reach : for
    each anchor by itself, that distance plus the largest noise of the rows within its radius.
    """

    lower: Floats
    upper: Floats
    left_out: int
    radius: float
    reach: Floats


def anchor_margins(
    blocks: Blocks,
    anchors: Indices,
    lengths: Floats,
    *,
    radius: float | Floats,
    factors: Floats | None = None,
    with_origin: bool = False,
    noise: Floats | None = None,
    max_iter: int = 200,
) -> Margins:
    """Bound the distance of each anchor to the hull of the other rows.

    Parameters
    ----------
    anchors : row numbers.
    lengths : of all rows, before their factors.
    radius : rows within this distance of an anchor, or within one for each anchor, are left out; so
        are those within 1e-12 of its length.
    factors : one number by which each row is multiplied; rows with zero are not looked at.
    with_origin : count the origin as a further row, for weights that sum to at most one.
    noise : radius of a ball around each row, after its factor, that belongs to the hull. Distances
        are then measured until it is known whether they exceed the anchors' own noise.
    """
    factors = np.ones(blocks.n_rows) if factors is None else factors
    points = as_dense(blocks.take(anchors)).astype(np.float64) * factors[anchors, None]
    radii = np.zeros(blocks.n_rows) if noise is None else noise
    near, (counts, reached, largest) = near_rows(
        blocks, anchors, points, factors, lengths * factors, radii, radius=radius
    )
    left_out = int(counts.sum()) - len(anchors)
    slack = 2 * product_rounding(blocks.n_columns) * lengths * factors

    def farthest(which: Indices, directions: Floats) -> tuple[Floats, Floats]:
        best, rows = np.full(len(which), -np.inf), np.zeros(len(which), dtype=np.intp)

        def highest(
            block: Block, factor: Floats, rounding: Floats, near: tuple[NDArray[np.bool_], Floats]
        ) -> tuple[Floats, Indices]:
            if not block.shape[0]:
                return np.full(len(which), -np.inf), np.zeros(len(which), dtype=np.intp)
            along = np.asarray(block @ directions.T, dtype=np.float64) * factor[:, None]
            along += rounding[:, None]
            along[near[0][:, which]] = -np.inf
            place = along.argmax(axis=0)
            return along[place, np.arange(len(which))], place

        for start, _, (value, place) in blocks.each(highest, factors, slack + radii, near):
            better = value > best
            best[better], rows[better] = value[better], start + place[better]
        corners = as_dense(blocks.take(rows)).astype(np.float64) * factors[rows, None]
        corners += radii[rows, None] * directions
        if with_origin:
            behind = best < 0
            best[behind], corners[behind] = 0.0, 0.0
        return best, corners

    asked = None if noise is None else noise[anchors]
    lower, upper = distances_to_hulls(points, farthest, max_iter=max_iter, asked=asked)
    farthest_left_out = float(reached.max()) if left_out else 0.0
    return Margins(lower, upper, left_out, farthest_left_out, reached + largest)


def near_rows(
    blocks: Blocks,
    anchors: Indices,
    points: Floats,
    factors: Floats,
    lengths: Floats,
    noise: Floats,
    *,
    radius: float | Floats,
) -> tuple[Rows, Floats]:
    """Find the rows (n, k) within the radius of each anchor, or excluded.

    They stay where the rows are, as the first array of each part. Then (3, k), how many lie there,
    how far the farthest is, and their largest noise. The expanded square of a distance only
    selects; what it selects is measured entry by entry.
    """
    squared = np.einsum("ij,ij->i", points, points)
    radii = np.maximum(radius, COPY * np.sqrt(squared))
    rounding = 4 * product_rounding(blocks.n_columns)

    def in_block(
        block: Block, factor: Floats, length: Floats, noise: Floats, row: range
    ) -> tuple[NDArray[np.bool_], Floats]:
        cross = np.asarray(block @ points.T, dtype=np.float64) * factor[:, None]
        expanded = length[:, None] ** 2 + squared - 2 * cross
        slack = rounding * (length[:, None] + np.sqrt(squared)) ** 2
        maybe = (expanded <= radii**2 + slack) & (factor != 0)[:, None]
        near, farthest = np.zeros(maybe.shape, dtype=bool), np.zeros(len(points))
        for k in np.flatnonzero(maybe.any(axis=0)).tolist():
            rows = np.flatnonzero(maybe[:, k])
            away = as_dense(block[rows]).astype(np.float64) * factor[rows, None] - points[k]
            distance = np.linalg.norm(away, axis=1)
            within = distance <= radii[k]
            near[rows[within], k] = True
            at_most = distance + rounding * (distance + np.sqrt(squared[k]))
            at_most[(distance == 0) & (factor[rows] == 1)] = 0.0  # exact copies
            farthest[k] = at_most[within].max(initial=0.0)
        here = np.flatnonzero((anchors >= row.start) & (anchors < row.stop))
        near[anchors[here] - row.start, here] = True
        largest = np.where(near, noise[:, None], 0.0).max(axis=0, initial=0.0)
        found = np.array([np.count_nonzero(near, axis=0), farthest, largest])
        near[factor == 0] = True
        return near, found

    everywhere = blocks.keep(in_block, factors, lengths, noise, range(blocks.n_rows))
    found = np.array(list(everywhere.each(itemgetter(1))))
    return everywhere, np.vstack([found[:, :1].sum(axis=0), found[:, 1:].max(axis=0)])


def margin_statements(points: Explanation) -> Certificate:
    """Return what the margins prove: check, bound and measures."""
    why_not = obstacle(points)
    margins = None if why_not else margins_of(points)
    if margins is not None and not np.isfinite(margins.lower).all():
        why_not = "all rows are as near to an anchor as its copies"
    if margins is None or why_not:
        check = Check(MARGIN, "margin", "unknown", note=f"not measured: {why_not}")
        return Certificate(points.fit.method, checks=(*vertices_are_no_rows(points.fit), check))
    least, unit = float(margins.lower.min()), points.unit
    scaled = SCALED if points.scaled else ""
    measures: dict[str, Measure] = {
        f"{scaled}anchor_margin": tuple((margins.lower * unit).tolist()),
        "rows_near_anchors": float(margins.left_out),
        f"{scaled}anchor_radius": margins.radius * unit,
    }
    bounds: dict[str, float] = {}
    if least > 0 and least / 2 >= unavoidable_noise(points):
        name = f"{scaled}anchor_{'group_' if margins.left_out else ''}noise"
        bounds[name] = least * unit / 2
    distances = np.empty(0)
    if points.fit.affords(4e-7 * points.fit.given.stored_entries + 0.003 * len(margins.lower)):
        distances = corner_distances(points, own_noise(points))
    located = distances[np.isfinite(distances)]
    if located.size:
        bounds[f"{scaled}located_corners"] = float(located.size)
        measures[f"{scaled}corner_distance"] = tuple((distances * unit).tolist())
    check = check_margins(points, margins, located)
    return Certificate(
        points.fit.method,
        checks=(*vertices_are_no_rows(points.fit), check),
        bounds=bounds,
        measures=measures,
    )


def own_noise(points: Explanation) -> Floats:
    """Return the residual of each row, or the typical one where that is more.

    The anchors explain themselves without any noise; theirs is taken to be typical.
    """
    counted = slice(None) if points.factors is None else points.factors != 0
    return np.maximum(points.distances, float(np.median(points.distances[counted])))


def corner_distances(points: Explanation, noise: Floats) -> Floats:
    """Bound the distance of each anchor to a corner of the noise-free data, for noise of each row.

    The reach at the least radius at which the margin exceeds the anchor's own noise, which grows
    with the radius: it is found by bisection. Infinite unless it is below half of the distance to
    the next anchor, of which the corner might be otherwise; so for a single anchor.
    """
    most = anchor_gaps(points.components) / 2
    low, high, radii = np.zeros(len(most)), most, most
    distances = np.full(len(most), np.inf)
    for _ in range(SETTINGS.radii if len(most) > 1 else 0):
        margins = margins_of(points, noise, radii)
        proved = margins.lower > noise[points.anchors]
        distances = np.where(proved, np.minimum(distances, margins.reach), distances)
        low, high = np.where(proved, low, radii), np.where(proved, radii, high)
        radii = (low + high) / 2
        if not np.isfinite(distances).any():
            break
    # residuals of rows that equal an anchor are rounding, which no distance may rest on
    longest = float(np.linalg.norm(points.components, axis=1).max())
    distances = distances + ROUNDING * (distances + longest)
    return np.where(distances < most, distances, np.inf)


def anchor_gaps(components: Floats) -> Floats:
    """Return the distance of each component to the nearest other one; infinite for one."""
    gaps = cdist(components, components)
    np.fill_diagonal(gaps, np.inf)
    return np.asarray(gaps.min(axis=1))


def unavoidable_noise(points: Explanation) -> float:
    """Return the noise that every explanation of this rank has in some row, at least.

    If rows divided by their sums s have noise up to δ, the rows themselves have up to δ s each, and
    δ ‖s‖ is no less than the error of any product of this rank.
    """
    fit = points.fit
    least = (fit.rank_bound.relative_error or 0.0) * fit.norm * (1 - 1e-15)
    if points.factors is None:
        return least / math.sqrt(fit.blocks.n_rows)
    sums = float(np.linalg.norm(np.maximum(fit.sums, 0.0)))
    return least / sums if sums > 0 else 0.0


def check_margins(points: Explanation, margins: Margins, located: Floats) -> Check:
    """Check that the explanation certifies itself: every anchor survives the noise it claims.

    `located` are the distances of corners from anchors under each row's own noise.
    """
    least, noise, unit = float(margins.lower.min()), points.largest, points.unit
    status: Status = "unknown"
    if least > 2 * noise:
        status = "holds"
    elif margins.upper.min() <= 2 * noise:
        status = "fails"
    or_near = ""
    if margins.left_out:
        radius = rounded_up(margins.radius * unit, 4)
        which = f"a row within {radius} of it" if margins.radius > 0 else "a copy of it"
        or_near = f", or {which} (there are {margins.left_out}),"
    survived, left = rounded_down(least * unit / 2), rounded_up(noise * unit, 4)
    rows = "row divided by its sum" if points.scaled else "row"
    words = (
        f"Proved: each anchor ({ANCHOR}){or_near} is a corner of the noise-free data, not a "
        f"mixture of other rows, if noise changed no {rows} by more than {survived}. The anchors "
        f"leave at most {left} of any {rows} unexplained."
    )
    not_proved = (
        f"Not proved: that each anchor ({ANCHOR}) is a corner of the noise-free data and not a "
        f"mixture of other rows. A proof would need noise of at most {survived} in every {rows}"
    )
    if status != "holds":
        words = f"{not_proved}, but the anchors leave up to {left} of a {rows} unexplained."
    note = (
        "twice the largest residual, against the least distance of an anchor to the mixtures of "
        f"other rows; proved of each anchor{or_near.rstrip(',')}{points.of_rows}"
    )
    floor = unavoidable_noise(points)
    if least / 2 < floor:
        note += "; vacuous at this rank"
        words = (
            f"{not_proved}, but no fit of this rank explains every {rows} to within "
            f"{rounded_down(floor * unit)}."
        )
    if status != "holds" and located.size:
        within = rounded_up(float(located.max()) * unit, 4)
        words = (  # the verdict has room for one sentence
            f"Proved of {located.size} of the {len(points.anchors)} anchors (rows taken as pure "
            f"examples of components): a corner of the noise-free data is within {within} of it, "
            f"if noise changed no {rows} by more than the anchors leave of it, or of a typical "
            f"one. {words}"
        )
    return Check(MARGIN, "margin", status, 2 * noise * unit, least * unit, note, in_words=words)


def obstacle(points: Explanation) -> str:
    """Return why margins are not measured; empty if they are."""
    columns = points.fit.blocks.n_columns
    most = SETTINGS.columns
    if columns > most:
        return f"there are {columns} columns, more than {most}: project the data first"
    if points.factors is not None:
        absolute = points.fit.absolute_sums
        if (absolute > 2 * points.fit.sums).any():  # a sum has lost digits then
            return "rows whose sums are small or negative cannot be divided by them"
        if (points.factors[points.anchors] == 0).any():
            return "an anchor has the sum zero and cannot be divided by it"
    return ""


def margins_of(
    points: Explanation, noise: Floats | None = None, radius: Floats | None = None
) -> Margins:
    """Measure margins; rows within a tenth of the typical residual count as copies by default.

    The radius stays below half the least distance of two anchors: balls around them are disjoint.
    """
    nearest = min(SETTINGS.near * points.typical, 0.4 * float(anchor_gaps(points.components).min()))
    affordable = points.fit.affords(1e-7 * points.fit.given.stored_entries)
    return anchor_margins(
        points.fit.blocks,
        points.anchors,
        points.fit.lengths,
        radius=nearest if radius is None else radius,
        factors=points.factors,
        with_origin=points.model == "hull and 0",
        noise=noise,
        max_iter=SETTINGS.passes if affordable else SETTINGS.passes // 5,
    )


def smallest_singular_value(components: NDArray[np.float64]) -> float:
    """Return σ_k of k components; zero if there are more of them than columns."""
    if components.shape[0] > components.shape[1]:
        return 0.0
    return float(np.linalg.svd(components, compute_uv=False)[-1])


def singular_value_rounding(components: NDArray[np.float64]) -> float:
    """Bound the rounding error of a computed singular value."""
    return 2 * product_rounding(max(components.shape)) * float(np.linalg.norm(components))


def independent_components(components: NDArray[np.float64]) -> Check:
    """Check GV14's assumption on the components; their lengths do not matter for it."""
    k, d = components.shape
    units = unit_rows(components)
    smallest, needed = smallest_singular_value(units), singular_value_rounding(units)
    status: Status = "holds" if smallest > needed else "unknown"
    if k > d or not components.any(axis=1).all():
        status = "fails"
    return Check(
        "components linearly independent",
        "GV14, Assumption 1",
        status,
        value=smallest,
        threshold=needed,
        note="smallest singular value of the components at unit length; below the threshold "
        "rounding hides it",
        direction=">=",
    )
