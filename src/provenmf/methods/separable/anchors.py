"""Common parts of the methods that choose rows as anchors: counting, the estimator, the search.

A subclass of `AnchorFactorizer` finds the anchors; with `vertices=True` the components are then
means of the rows around them. `FarthestRows` finds the row farthest from the span of rows chosen
before, several steps of it in one pass.

Greedy methods take the farthest row, project it out of all others and repeat: one pass over the
data for each step. Where a pass has to read a file or to ask a cluster, it also **looks ahead**. It
guesses the rows of the next steps, projects them out one after the other, and finds the farthest
row of every step. As long as that row is the one guessed, the step is exactly the one that would
have been made alone, so the answer is the same. After a wrong guess the rest of the pass is lost,
but the far rows that it found make better guesses for the next one.

The guesses come from the greedy method itself, applied to the rows seen so far: those that were
among the farthest in earlier steps. There is never more than one pass for each step.

Rows that are equally far up to rounding are common (copies, symmetric data), and the first of them
is chosen whatever the blocks. Each block therefore names its **leaders**, the few rows of which one
may be the first within its slack of the largest score of all blocks; scores of all other rows stay
with the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.data import Block, Blocks, Part, Rows
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import (
    ROUNDING,
    SAFE_LENGTHS,
    inverse_where_positive,
    orthogonal_part,
    row_sums,
    squared_row_norms,
    without_rounding,
)
from provenmf.linalg.storage import as_dense
from provenmf.methods.base import Factorizer
from provenmf.methods.run import Callback, OnInterrupt, Run
from provenmf.methods.separable.vertices import average_vertices
from provenmf.results import Solution, StopReason
from provenmf.results.states import AnchorState

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_ANCHORS = 100  # tried when their number is to be found


def dense_rows(blocks: Blocks, rows: Sequence[int] | NDArray[np.integer]) -> NDArray[Any]:
    """Return the given rows as a dense array."""
    return as_dense(blocks.take(np.asarray(rows, dtype=np.intp)))


def dense_row(blocks: Blocks, row: int) -> NDArray[np.float64]:
    """Return one row as a dense vector in double precision."""
    return np.asarray(dense_rows(blocks, [row])[0].astype(np.float64))


def row_scales(block: Block) -> NDArray[np.float64]:
    """Return one over the sum of each row; zero for rows without a sum, which then never win.

    Sums whose square underflows count as zero: such a row would be scaled to infinity.
    """
    sums = row_sums(block)
    return inverse_where_positive(np.where(sums >= SAFE_LENGTHS[0], sums, 0.0))


def number_to_try(blocks: Blocks, n_components: int | None, most: int | None = None) -> int:
    """Return how many anchors to look for: the number asked for, or the most that are tried."""
    if n_components is None:
        return min(blocks.n_rows, most or blocks.n_rows, MOST_ANCHORS)
    if n_components > blocks.n_rows:
        raise InvalidInput(
            f"exceeds the {blocks.n_rows} rows of X, of which anchors are chosen",
            argument="n_components",
            value=n_components,
            remedy=f"ask for at most {blocks.n_rows}",
        )
    return n_components


def anchor_solution(
    blocks: Blocks,
    anchors: list[int],
    residuals: Sequence[float],
    n_components: int | None,
    run: Run,
) -> Solution:
    """Return the chosen rows as components, and how clear their number is.

    Parameters
    ----------
    residuals : for each anchor the residual length with which it was chosen, and last the largest
        residual length that remains.
    n_components : the number asked for; None keeps the anchors up to the largest ratio of
        successive residuals.

    Returns
    -------
    Solution whose AnchorState has `drop`: the ratio of the last anchor's residual to the next one.
    Data of zeros have the one anchor 0. A run that found all its anchors counts as converged.
    """
    if not anchors:
        anchors, residuals = [0], [0.0, 0.0]
    values = np.asarray(residuals, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        drops = values[:-1] / values[1:]
    kept = len(anchors) if n_components is not None else int(np.argmax(drops)) + 1
    ended_early = run.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK)
    if n_components is not None and kept < n_components and not ended_early:
        warn_user(
            DegenerateData(
                f"is too many: {kept} anchors explain every row to rounding",
                argument="n_components",
                value=n_components,
                remedy=f"{kept} components are returned; ask for at most {kept}",
            )
        )
    finished = run.stop_reason is StopReason.MAX_ITER
    return Solution(
        components=dense_rows(blocks, anchors[:kept]),
        anchors=np.array(anchors[:kept], dtype=np.intp),
        trace=run.trace,
        stop_reason=StopReason.ALL_ANCHORS if finished else run.stop_reason,
        state=AnchorState(float(drops[kept - 1]) if values[kept - 1] > 0 else math.nan),
    )


@dataclass(eq=False, repr=False)
class AnchorFactorizer(Factorizer):
    """Base of methods whose components are anchors, or with `vertices` means of rows around them.

    A subclass gives `_anchors_of` in place of `_solve`, and says in which sense rows are mixtures.
    Parameters are fields: the constructor that scikit-learn reads is made from them.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None finds it.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.
    """

    n_components: int | str | None = None
    _: KW_ONLY
    vertices: bool = False
    row_errors: ArrayLike | None = None
    certify: bool | str = True
    verbose: int = 0
    callback: Callback | None = None
    on_interrupt: OnInterrupt = "raise"

    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "vertices": ["boolean"],
        "row_errors": ["array-like", None],
    }

    @property
    def _looks_at_scaled_rows(self) -> bool:
        """Return whether anchors are sought among rows divided by their sums."""
        return bool(getattr(self, "scale_rows", False))

    @property
    def _sums_below_one(self) -> bool:
        """Return whether the weights of a row may sum to less than one."""
        return False

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        """Find the anchors."""
        raise NotImplementedError

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        if self.row_errors is not None and not self.vertices:
            raise InvalidInput(
                "says how vertices are averaged, but no vertices are asked for",
                argument="row_errors",
                remedy="set vertices=True, or leave it out",
            )
        solution = self._anchors_of(blocks, rng)
        return self._averaged(blocks, solution) if self.vertices else solution

    def _averaged(self, blocks: Blocks, solution: Solution) -> Solution:
        """Replace anchors by vertices; among scaled rows each has the mean size of its members."""
        anchors = solution.anchors
        assert anchors is not None  # methods that choose rows always have anchors
        factors = blocks.map_rows(row_scales) if self._looks_at_scaled_rows else None
        found = average_vertices(
            blocks, anchors, self.row_errors, factors=factors, with_origin=self._sums_below_one
        )
        points = found.points
        if factors is not None:
            sums = inverse_where_positive(factors)
            sizes = sums @ found.members / np.maximum(found.n_members, 1)
            points = points * np.where(found.n_members > 0, sizes, sums[anchors])[:, None]
        # A vertex without members stays the very row that the anchor is.
        points = np.where(found.n_members[:, None] > 1, points, solution.components)
        listed = ", ".join(str(max(1, number)) for number in found.n_members.tolist())
        note = f"The components are vertices: means of {listed} rows around the anchors"
        return replace(
            solution,
            components=points.astype(blocks.dtype, copy=False),
            weights=None,
            notes=(*solution.notes, note),
        )


# The search for the farthest row.

# Squared distances of the rows of a block after each step, from those of the span, the products of
# the rows with one direction after the other, their numbers and their scale of rounding.
Steps = Callable[[Floats, Iterator[Floats], range, Floats], Iterator[Floats]]

FETCHED_BYTES = 64e6  # at most, of rows that a pass fetches
ROWS_OF_A_STEP = 64  # fetched from all blocks, and at least one of each
DIRECTIONS = 8  # multiplied at a time


class Farthest(NamedTuple):
    """The farthest row, its point, and its squared distance: zero if all rows are in the span."""

    row: int
    point: Floats
    squared: float


class FarthestRows:
    """Rows farthest from a growing span, and what earlier passes tell about the next ones.

    Parameters
    ----------
    blocks : the data; a point is a row times its factor.
    most : the largest number of steps wanted; guesses end there.
    factors : one over the rows' sums, say, from a block; None for ones. Rows with a factor of zero
        are never chosen.
    """

    def __init__(
        self, blocks: Blocks, most: int, *, factors: Callable[[Block], Floats] | None = None
    ) -> None:
        self.blocks, self._most, self._factors = blocks, most, factors
        self._origin = np.zeros(blocks.n_columns)
        self._longest: float | None = None
        self._state: Rows | None = None
        self._projected = 0  # vectors of the basis that are projected out of the state
        self._points: dict[int, Floats] = {}
        self._known: dict[tuple[int, ...], Farthest] = {}
        self._n_blocks = sum(1 for _ in blocks.ranges())
        room = FETCHED_BYTES / (8 * blocks.n_columns * self._n_blocks)
        self._room = 1 if blocks.in_memory else max(1, int(room))

    def measure_from(self, origin: Floats, longest: float) -> None:
        """Let the span start at a point; squares that rounding of `longest` explains are zero."""
        self._origin, self._longest = origin, longest
        self._state, self._projected, self._known = None, 0, {}

    def after(self, anchors: Sequence[int], basis: Floats) -> Farthest:
        """Return the row farthest from the span of the orthonormal `basis`, except anchors.

        Of rows that are equally far up to rounding the first one is taken.
        """
        if tuple(anchors) not in self._known:
            self._look(list(anchors), basis)
        return self._known[tuple(anchors)]

    def without_each(
        self, anchors: list[int], basis: Floats, normals: Floats, feet: Floats
    ) -> list[Farthest]:
        """Return for each anchor the row farthest from the span of the others, in one pass.

        `basis` is that of all anchors. Of each anchor, `normals` has the unit vector in its span
        that is normal to the span of the others, and `feet` a point of the latter. The squared
        distance to the span of the others exceeds that to the whole span by the square along it.
        """

        def steps(squared: Floats, along: Iterator[Floats], rows: range, scale: Floats) -> Any:
            for left_out, height in enumerate(along):
                scores = without_rounding(squared + height**2, scale)
                scores[places_in(rows, anchors[:left_out] + anchors[left_out + 1 :])] = 0.0
                yield scores

        offsets = np.einsum("ij,ij->i", normals, feet)
        found = self._seen(anchors, basis, normals, offsets, steps, 1)
        return [self._first(found, step) for step in range(len(normals))]

    def points(self, rows: Sequence[int]) -> Floats:
        """Return the points of the given rows."""
        new = np.array([row for row in rows if row not in self._points], dtype=np.intp)
        if new.size:
            block = self.blocks.take(new)
            points = as_dense(block).astype(np.float64)
            if self._factors is not None:
                points *= self._factors(block)[:, None]
            self._points.update(zip(new.tolist(), points))
        return np.array([self._points[row] for row in rows])

    def _look(self, anchors: list[int], basis: Floats) -> None:
        """Find the next step in one pass and, where the guesses are right, those behind it."""
        guessed, added = self._guessed(anchors, basis)
        steps_wanted = 1 + len(guessed)
        wanted = max(1, min(self._room // steps_wanted, ROWS_OF_A_STEP // self._n_blocks))

        def steps(squared: Floats, along: Iterator[Floats], rows: range, scale: Floats) -> Any:
            yield squared
            for row, direction in zip(guessed, along):
                squared = without_rounding(squared - direction**2, scale)
                squared[places_in(rows, [row])] = 0.0
                yield squared

        found = self._seen(anchors, basis, added, added @ self._origin, steps, wanted)
        self._known = {
            (*anchors, *guessed[:step]): self._first(found, step) for step in range(steps_wanted)
        }

    def _seen(
        self,
        anchors: list[int],
        basis: Floats,
        further: Floats,
        offsets: Floats,
        steps: Steps,
        wanted: int,
    ) -> list[Seen]:
        """Make one pass; squared distances from the span of the basis stay with the rows.

        Rows are measured along what earlier passes did not project out and `further` directions,
        each from a point with this offset. `steps` says after which steps candidates are named,
        `wanted` is the number of the farthest rows to fetch for each of them.
        """
        sure = basis[self._projected :]
        directions = np.vstack([sure, further])
        shifts = np.concatenate([sure @ self._origin, offsets])
        origin, longest, factors = self._origin, self._longest, self._factors
        wanted = 1 if self.blocks.in_memory else wanted

        def one_pass(block: Block, rows: range, *known: Part) -> Part:
            each, lengths, squared = known[0][:3] if known else measured(block, origin, factors)
            scale = lengths if longest is None else np.full(len(rows), longest)
            along = products(block, directions, shifts, each)
            for _, product in zip(range(len(sure)), along):
                squared = squared - product**2
            squared = without_rounding(squared, scale)
            squared[places_in(rows, anchors)] = 0.0
            near: list[tuple[Indices, Floats]] = []
            largest: list[float] = []
            fetched = np.empty(0, dtype=np.intp)
            for scores in steps(squared, along, rows, scale):
                near.append(near_largest(scores, 10 * ROUNDING * scale))
                largest.append(scores.max())
                fetched = np.union1d(fetched, near[-1][0])
                if wanted > 1:
                    far = np.argpartition(-scores, min(wanted, len(rows)) - 1)[:wanted]
                    fetched = np.union1d(fetched, far)
            found = Seen(
                fetched + rows.start,
                as_dense(block[fetched]).astype(np.float64) * each[fetched, None],
                np.repeat(np.arange(len(near)), [len(places) for places, _ in near]),
                np.concatenate([places for places, _ in near]) + rows.start,
                np.concatenate([raised for _, raised in near]),
                np.array(largest),
            )
            return each, lengths, squared, *found

        known = () if self._state is None else (self._state,)
        self._state = self.blocks.keep(one_pass, range(self.blocks.n_rows), *known)
        self._projected = len(basis)
        found = list(self._state.each(lambda part: Seen(*part[3:])))
        for seen in found:
            self._points.update(zip(seen.rows.tolist(), seen.points))
        return found

    def _first(self, found: Sequence[Seen], step: int) -> Farthest:
        """Return the lowest row whose squared distance comes within its slack of the largest."""
        largest = max(float(seen.largest[step]) for seen in found)
        for seen in found:
            near = seen.candidates[(seen.steps == step) & (seen.raised >= largest)]
            if near.size:
                row = int(near.min())
                return Farthest(row, self._points[row], largest)
        raise AssertionError("the farthest row is among the candidates")

    def _guessed(self, anchors: list[int], basis: Floats) -> tuple[list[int], Floats]:
        """Return the rows that come next among those seen, and the direction that each adds."""
        number = min(self._most - len(anchors), self._room - 1)
        guessed: list[int] = []
        span = basis
        if number <= 0 or not self._points:
            return guessed, span[:0]
        rows = np.sort(np.fromiter(self._points, dtype=np.intp))
        points = self.points(rows.tolist()) - self._origin
        lengths = np.einsum("ij,ij->i", points, points)
        squared = lengths - ((points @ basis.T) ** 2).sum(axis=1)
        squared[np.isin(rows, anchors)] = 0.0
        while len(guessed) < number:
            place = int(np.argmax(squared))
            if squared[place] <= ROUNDING * lengths[place]:
                break
            guessed.append(int(rows[place]))
            direction = orthogonal_part(points[place], span)
            span = np.vstack([span, direction / np.linalg.norm(direction)])
            squared = squared - (points @ span[-1]) ** 2
            squared[place] = 0.0
        return guessed, span[len(basis) :]


class Seen(NamedTuple):
    """Points that a pass fetches from a block, and which may be farthest after each step."""

    rows: Indices
    points: Floats
    steps: Indices  # of each candidate: after which step,
    candidates: Indices  # which row,
    raised: Floats  # and its squared distance plus its slack for rounding
    largest: Floats  # squared distance after each step


def measured(
    block: Block, origin: Floats, factors: Callable[[Block], Floats] | None
) -> tuple[Floats, Floats, Floats]:
    """Return the rows' factors, their squared lengths and squared distances from the origin."""
    each = np.ones(block.shape[0]) if factors is None else factors(block)
    lengths = squared_row_norms(block) * each**2
    if not origin.any():
        return each, lengths, lengths
    squared = lengths - 2 * ((block @ origin) * each) + origin @ origin
    squared[each == 0] = 0.0
    return each, lengths, squared


def products(block: Block, directions: Floats, shifts: Floats, each: Floats) -> Iterator[Floats]:
    """Yield the products of all points, less the shift, with one direction after the other."""
    for first in range(0, len(directions), DIRECTIONS):
        some = directions[first : first + DIRECTIONS]
        along = np.asarray(block @ some.T, dtype=np.float64).T * each
        yield from along - np.outer(shifts[first : first + DIRECTIONS], each != 0)


def places_in(rows: range, numbers: Iterable[int]) -> list[int]:
    """Return where the rows of the given numbers are among those of a block."""
    return [number - rows.start for number in numbers if number in rows]


def near_largest(scores: Floats, slack: Floats | float) -> tuple[Indices, Floats]:
    """Return rows of which one may be the first within its slack of the largest score of all.

    And their scores with their slack. A row whose score with its slack does not exceed that of a
    row before it is never first. Where no score is positive, it is the first of the largest.
    """
    largest = scores.max()
    if largest <= 0:  # also −inf, where no row may be chosen
        return np.array([np.argmax(scores)]), np.array([largest])
    raised = scores + slack
    near = np.flatnonzero((raised >= largest) & (scores > 0))
    before = np.maximum.accumulate(np.concatenate([[-np.inf], raised[near][:-1]]))
    near = near[raised[near] > before]
    return near, raised[near]


# Row numbers of leaders, their scores, these with their slack, their values, and the largest score
# of the block.
Leaders = tuple[Indices, Floats, Floats, Floats, Floats]


class Chosen(NamedTuple):
    """The row chosen, its score and its values; the largest score of all rows."""

    row: int
    score: float
    values: Floats
    largest: float


def leaders(
    block: Block, rows: range, scores: Floats, slack: Floats | float, *columns: NDArray[Any]
) -> Leaders:
    """Return rows of a block of which `first_chosen` may choose one; `rows` are their numbers.

    The values of each are its entries and, behind them, its entries of `columns`, (n,) or (n, m).
    """
    near, raised = near_largest(scores, slack)
    entries = as_dense(block[near]).astype(np.float64)
    values = np.column_stack([entries, *(column[near] for column in columns)])
    return near + rows.start, scores[near], raised, values, np.array([scores.max()])


def first_chosen(found: Iterable[Leaders]) -> Chosen:
    """Return the lowest row whose score comes within its slack of the largest one of all blocks.

    Where no score is positive, the first of the largest ones.
    """
    blocks = list(found)
    largest = max(float(top[0]) for *_, top in blocks)
    for numbers, scores, raised, values, _ in blocks:
        if raised.max() >= largest:
            place = int(np.argmax(raised >= largest))
            return Chosen(int(numbers[place]), float(scores[place]), values[place], largest)
    raise AssertionError("the block with the largest score names a row that has it")
