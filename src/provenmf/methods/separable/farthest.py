"""The row farthest from the span of rows chosen before, several steps of it in one pass.

Greedy methods take the farthest row, project it out of all others and repeat: one pass over the
data for each step. Where a pass has to read a file or to ask a cluster, it also **looks ahead**. It
guesses the rows of the next steps, projects them out one after the other, and finds the farthest
row of every step. As long as that row is the one guessed, the step is exactly the one that would
have been made alone, so the answer is the same. After a wrong guess the rest of the pass is lost,
but the far rows that it found make better guesses for the next one.

The guesses come from the greedy method itself, applied to the rows seen so far: those that were
farthest in earlier steps and, at first, those at the ends of random directions. Fifty steps then
take three to six passes on data with anchors, and never more than one pass each.

Rows that are equally far up to rounding are common (copies, symmetric data), and the first of them
is chosen whatever the blocks. Each block therefore names its **leaders**, the few rows of which one
may be the first within its slack of the largest score of all blocks; scores of all other rows stay
with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Block, Blocks, ByRow, Part, Rows
from provenmf.linalg.norms import (
    ROUNDING,
    orthogonal_part,
    rows_of_a_slice,
    squared_row_norms,
    without_rounding,
)
from provenmf.linalg.storage import as_dense, is_sparse

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
# One factor for each row of a block, from the block and what is given for its rows.
Factors = Callable[..., Floats]
# Scores of the rows of a slice and their slack after each step, from their squared distances, their
# products with the directions, their numbers and their scale of rounding.
Steps = Callable[[Floats, Floats, range, Floats], Iterator[tuple[Floats, Floats | float]]]

FETCHED_BYTES = 64e6  # at most, of rows that a pass fetches
ROWS_OF_A_STEP = 64  # fetched from all blocks, and at least one of each
LEAST_SLICE = 256  # rows; each slice takes a few calls a step


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
    factors : one over the rows' sums, say; None for ones. Rows with a factor of zero are never
        chosen.
    given : arrays with a value for each row, of which `factors` gets slices.
    """

    def __init__(
        self,
        blocks: Blocks,
        most: int,
        *,
        factors: Factors | None = None,
        given: Sequence[ByRow] = (),
    ) -> None:
        self._blocks, self._most = blocks, most
        self._factors, self._given = factors, given
        self._origin: Floats | None = None
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

        def steps(squared: Floats, along: Floats, rows: range, scale: Floats) -> Any:
            for left_out, height in enumerate(along):
                scores = without_rounding(squared + height**2, scale)
                others = anchors[:left_out] + anchors[left_out + 1 :]
                scores[places_in(rows, others)] = 0.0
                yield scores, 10 * ROUNDING * scale

        offsets = np.einsum("ij,ij->i", normals, feet)
        found = self._seen(anchors, basis, normals, offsets, steps, len(normals), 1)
        return [self._first(found, step) for step in range(len(normals))]

    def points(self, rows: Sequence[int]) -> Floats:
        """Return the points of the given rows."""
        new = np.array([row for row in rows if row not in self._points], dtype=np.intp)
        if new.size:
            block = self._blocks.take(new)
            points = as_dense(block).astype(np.float64)
            if self._factors is not None:
                points *= self._factors(block, *(np.asarray(g)[new] for g in self._given))[:, None]
            self._points.update(zip(new.tolist(), points))
        return np.array([self._points[row] for row in rows])

    def _look(self, anchors: list[int], basis: Floats) -> None:
        """Find the next step in one pass and, where the guesses are right, those behind it."""
        guessed, added = self._guessed(anchors, basis)
        n_random = 0 if self._points else min(self._most, self._room // 2)
        random = np.random.default_rng(0).standard_normal((n_random, self._blocks.n_columns))
        columns = 1 + len(guessed) + 2 * n_random
        wanted = max(1, min(self._room // columns, ROWS_OF_A_STEP // self._n_blocks))

        def steps(squared: Floats, along: Floats, rows: range, scale: Floats) -> Any:
            slack = 10 * ROUNDING * scale
            yield squared, slack
            for row, direction in zip(guessed, along):
                squared = without_rounding(squared - direction**2, scale)
                squared[places_in(rows, [row])] = 0.0
                yield squared, slack
            for direction in along[len(guessed) :]:  # random: far rows at both ends
                yield direction, 0.0
                yield -direction, 0.0

        further = np.vstack([added, random])
        offsets = np.zeros(len(further)) if self._origin is None else further @ self._origin
        found = self._seen(anchors, basis, further, offsets, steps, 1 + len(guessed), wanted)
        self._known = {
            (*anchors, *guessed[:step]): self._first(found, step)
            for step in range(1 + len(guessed))
        }

    def _seen(
        self,
        anchors: list[int],
        basis: Floats,
        further: Floats,
        offsets: Floats,
        steps: Steps,
        n_steps: int,
        wanted: int,
    ) -> list[Seen]:
        """Make one pass; squared distances from the span of the basis stay with the rows."""
        sure = basis[self._projected :]  # what earlier passes did not project out
        sure_offsets = np.zeros(len(sure)) if self._origin is None else sure @ self._origin
        one = Pass(
            anchors,
            np.vstack([sure, further]),
            np.concatenate([sure_offsets, offsets]),
            len(sure),
            self._origin,
            self._longest,
            steps,
            n_steps,
            wanted,
        )
        rows = range(self._blocks.n_rows)
        if self._state is None:
            self._state = self._blocks.keep(one.begin(self._factors), rows, *self._given)
        else:
            self._state = self._blocks.keep(one.go_on, rows, self._state)
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
        points = self.points(rows.tolist())
        if self._origin is not None:
            points = points - self._origin
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


@dataclass(frozen=True)
class Pass:
    """One pass over a block: how far its rows are from the span, and after each of some steps.

    Parameters
    ----------
    anchors : rows chosen, which are left out.
    directions, offsets : rows are measured along these, each from a point with this offset. The
        first `n_sure` are those that the last anchors have added to the span.
    origin : where the span starts; None for zero.
    longest : squared length whose rounding counts as zero; None for each row's own.
    steps, n_steps : the steps of which candidates are named; scores behind them only find far rows.
    wanted : number of rows to fetch for each step.
    """

    anchors: list[int]
    directions: Floats
    offsets: Floats
    n_sure: int
    origin: Floats | None
    longest: float | None
    steps: Steps
    n_steps: int
    wanted: int

    def begin(self, factors: Factors | None) -> Callable[..., Part]:
        """Return the pass that measures the rows first."""

        def measured(block: Block, rows: range, *given: Floats) -> Part:
            each = np.ones(len(rows)) if factors is None else factors(block, *given)
            lengths = squared_row_norms(block) * each**2
            squared = lengths
            if self.origin is not None:
                squared = lengths - 2 * ((block @ self.origin) * each) + self.origin @ self.origin
                squared[each == 0] = 0.0
            return self.go_on(block, rows, (each, lengths, squared))

        return measured

    def go_on(self, block: Block, rows: range, part: Part) -> Part:
        """Go on with rows whose factors, squared lengths and squared distances are known.

        These three are kept, followed by the fields of `Seen`.
        """
        factors, lengths, known = part[:3]
        squared = np.empty(len(rows))
        noted: dict[int, list[tuple[float, ...]]] = {}
        products_of = _products(self.directions, block)

        def look(some: slice) -> None:
            along = products_of(some) * factors[some]
            if self.offsets.any():
                along -= np.outer(self.offsets, factors[some] != 0)
            scale = lengths[some] if self.longest is None else np.full(len(along.T), self.longest)
            projected = known[some] - np.sum(along[: self.n_sure] ** 2, axis=0)
            squares = without_rounding(projected, scale)
            squares[places_in(rows[some], self.anchors)] = 0.0
            squared[some] = squares
            steps = self.steps(squares, along[self.n_sure :], rows[some], scale)
            noted[some.start] = [_noted(*scores) for scores in steps]

        for_row_slices(look, len(rows), slice_rows=_slice_rows(block, len(self.directions)))
        return factors, lengths, squared, *self._fetched(block, rows, factors, noted)

    def _fetched(
        self,
        block: Block,
        rows: range,
        factors: Floats,
        noted: dict[int, list[tuple[float, ...]]],
    ) -> Seen:
        """Return candidates of each step, and the farthest rows of the slices for guesses."""
        starts = np.array(sorted(noted))
        table = np.array([noted[start] for start in starts])  # slices, columns, fields
        places = table[:, :, :2].astype(np.intp) + starts[:, None, None]
        scores, raised = table[:, :, 2], table[:, :, 3:]
        largest = scores.max(axis=0)
        near = raised[:, : self.n_steps] >= largest[: self.n_steps, None]
        candidates = places[:, : self.n_steps][near]
        best = np.argsort(-scores, axis=0, kind="stable")[: self.wanted]
        far = np.take_along_axis(places[:, :, 1], best, axis=0)
        fetched = np.union1d(candidates, far)
        return Seen(
            fetched + rows.start,
            as_dense(block[fetched]).astype(np.float64) * factors[fetched, None],
            np.nonzero(near)[1],
            candidates + rows.start,
            raised[:, : self.n_steps][near],
            largest[: self.n_steps],
        )


def _noted(scores: Floats, slack: Floats | float) -> tuple[int, int, float, float, float]:
    """Return the first row of a slice that is as far as the farthest up to its slack, and that one.

    Then the score of the farthest, and the scores with slack of both. Where no score is positive,
    both are the first of the largest.
    """
    top = int(np.argmax(scores))
    score = float(scores[top])
    if score <= 0:
        return top, top, score, score, score
    raised = scores + slack
    first = int(np.argmax((raised >= score) & (scores > 0)))
    return first, top, score, float(raised[first]), float(raised[top])


def _products(directions: Floats, block: Block) -> Callable[[slice], Floats]:
    """Multiply every direction with the rows of a slice; slices of sparse rows would be copies."""
    if is_sparse(block):
        whole = np.ascontiguousarray((block @ np.ascontiguousarray(directions.T)).T)
        return lambda some: whole[:, some]
    return lambda some: np.asarray(directions @ block[some].T, dtype=np.float64)


def _slice_rows(block: Block, n_directions: int) -> int:
    """Return all rows for one direction; else few enough that they stay in the cache."""
    if n_directions <= 1:
        return int(block.shape[0])
    columns = 1 if is_sparse(block) else block.shape[1]
    return max(LEAST_SLICE, rows_of_a_slice(max(columns, n_directions)))


def places_in(rows: range, numbers: Iterable[int]) -> list[int]:
    """Return where the rows of the given numbers are among those of a block."""
    return [number - rows.start for number in numbers if number in rows]


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

    A row whose score with its slack does not exceed that of a row before it is never first. The
    values of each are its entries and, behind them, its entries of `columns`, (n,) or (n, m).
    """
    largest = scores.max()
    if largest > 0:
        raised = scores + slack
        near = np.flatnonzero((raised >= largest) & (scores > 0))
        before = np.maximum.accumulate(np.concatenate([[-np.inf], raised[near][:-1]]))
        near = near[raised[near] > before]
    else:  # also −inf, where no row may be chosen
        raised = scores
        near = np.array([np.argmax(scores)])
    entries = as_dense(block[near]).astype(np.float64)
    values = np.column_stack([entries, *(column[near] for column in columns)])
    return near + rows.start, scores[near], raised[near], values, np.array([largest])


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
