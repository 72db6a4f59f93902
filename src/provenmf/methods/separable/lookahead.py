"""One pass of `farthest.py` over a block: how far its rows are after several steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Block
from provenmf.data.parts import Part
from provenmf.linalg.norms import rows_of_a_slice, squared_row_norms
from provenmf.linalg.orthogonal import ROUNDING, without_rounding
from provenmf.linalg.storage import as_dense, is_sparse
from provenmf.methods.separable.leaders import places_in

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
# One factor for each row of a block, from the block and what is given for its rows.
Factors = Callable[..., Floats]

LEAST_SLICE = 256  # rows; each takes a few calls a step


class Seen(NamedTuple):
    """What is brought of a block: points, and which of them may be farthest after each step."""

    rows: Rows
    points: Floats
    steps: Rows  # of each candidate: after which step,
    candidates: Rows  # which row,
    raised: Floats  # and its squared distance plus its slack for rounding
    largest: Floats  # squared distance after each step


class Noted(NamedTuple):
    """Of a slice of rows: the farthest, and the first that is as far up to its slack."""

    first: int
    top: int
    score: float  # of the farthest
    first_raised: float
    top_raised: float


@dataclass(frozen=True)
class Pass(ABC):
    """How far rows are from the span of the anchors, and after the steps of a subclass.

    Parameters
    ----------
    anchors : rows chosen, which are left out.
    sure : directions that the last of them have added to the span.
    origin : where the span starts; None for zero.
    longest : squared length whose rounding counts as zero; None for each row's own.
    further : directions of the steps.
    wanted : rows to bring for each step.
    """

    anchors: list[int]
    sure: Floats
    origin: Floats | None
    longest: float | None
    further: Floats
    wanted: int

    @property
    @abstractmethod
    def n_steps(self) -> int:
        """How many steps count; scores behind them only find far rows."""

    @abstractmethod
    def _steps(
        self, squared: Floats, along: Floats, rows: range, scale: Floats
    ) -> Iterator[tuple[Floats, Floats | float]]:
        """Scores of the rows and their slack after each step, from squared distances before."""

    def begin(self, factors: Factors | None) -> Callable[..., Part]:
        """The pass that measures the rows first."""

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
        """The pass over rows of which factor, squared length and squared distance are known.

        These three are kept, with what is brought.
        """
        factors, lengths, known = part[:3]
        squared = np.empty(len(rows))
        noted: dict[int, list[Noted]] = {}
        directions, offsets = self._directions, self._offsets()
        products_of = _products(directions, block)
        sure = len(self.sure)

        def look(some: slice) -> None:
            along = products_of(some) * factors[some]
            if offsets.any():
                along -= np.outer(offsets, factors[some] != 0)
            scale = lengths[some] if self.longest is None else np.full(len(along.T), self.longest)
            squares = without_rounding(known[some] - np.sum(along[:sure] ** 2, axis=0), scale)
            squares[places_in(rows[some], self.anchors)] = 0.0
            squared[some] = squares
            steps = self._steps(squares, along[sure:], rows[some], scale)
            noted[some.start] = [_noted(*scores) for scores in steps]

        for_row_slices(look, len(rows), slice_rows=_slice_rows(block, len(directions)))
        return factors, lengths, squared, *self._brought(block, rows, factors, noted)

    @property
    def _directions(self) -> Floats:
        return np.vstack([self.sure, self.further])

    def _offsets(self) -> Floats:
        """Of each direction: its product with the point from which it is measured."""
        directions = self._directions
        return np.zeros(len(directions)) if self.origin is None else directions @ self.origin

    def _brought(
        self, block: Block, rows: range, factors: Floats, noted: dict[int, list[Noted]]
    ) -> Seen:
        """Candidates of each step, and the farthest rows of the slices as material for guesses."""
        starts = np.array(sorted(noted))
        table = np.array([noted[start] for start in starts])  # slices, columns, fields
        places = table[:, :, :2].astype(np.intp) + starts[:, None, None]
        scores, raised = table[:, :, 2], table[:, :, 3:]
        steps = self.n_steps
        largest = scores.max(axis=0)
        near = raised[:, :steps] >= largest[:steps, None]
        candidates = places[:, :steps][near]
        best = np.argsort(-scores, axis=0, kind="stable")[: self.wanted]
        far = np.take_along_axis(places[:, :, 1], best, axis=0)
        brought = np.union1d(candidates, far)
        points = as_dense(block[brought]).astype(np.float64) * factors[brought, None]
        return Seen(
            brought + rows.start,
            points,
            np.nonzero(near)[1],
            candidates + rows.start,
            raised[:, :steps][near],
            largest[:steps],
        )


@dataclass(frozen=True)
class Lookahead(Pass):
    """Rows that may be chosen next are projected out one after the other.

    Parameters
    ----------
    guessed : those rows; `further` has the direction that each adds, then random directions, at
        whose ends far rows are found.
    """

    guessed: list[int]

    @property
    def n_steps(self) -> int:
        """One more than there are guesses: the first is after the anchors."""
        return 1 + len(self.guessed)

    def _steps(
        self, squared: Floats, along: Floats, rows: range, scale: Floats
    ) -> Iterator[tuple[Floats, Floats | float]]:
        slack = 10 * ROUNDING * scale
        yield squared, slack
        for row, direction in zip(self.guessed, along):
            squared = without_rounding(squared - direction**2, scale)
            squared[places_in(rows, [row])] = 0.0
            yield squared, slack
        for direction in along[len(self.guessed) :]:
            yield direction, 0.0
            yield -direction, 0.0


@dataclass(frozen=True)
class Faces(Pass):
    """Each anchor in turn is left out of the span.

    `further` has for each anchor the normal of the others' span within the span of all, so that the
    squared distance grows by the square along it.

    Parameters
    ----------
    feet : a point of the others' span for each anchor.
    """

    feet: Floats

    @property
    def n_steps(self) -> int:
        """One for each anchor."""
        return len(self.further)

    def _offsets(self) -> Floats:
        offsets = super()._offsets()
        offsets[len(self.sure) :] = np.einsum("ij,ij->i", self.further, self.feet)
        return offsets

    def _steps(
        self, squared: Floats, along: Floats, rows: range, scale: Floats
    ) -> Iterator[tuple[Floats, Floats | float]]:
        for left_out, height in enumerate(along):
            scores = without_rounding(squared + height**2, scale)
            others = self.anchors[:left_out] + self.anchors[left_out + 1 :]
            scores[places_in(rows, others)] = 0.0
            yield scores, 10 * ROUNDING * scale


def seen_in(part: Part) -> Seen:
    """What a pass brings of a block, at the end of what it keeps."""
    return Seen(*part[3:])


def _noted(scores: Floats, slack: Floats | float) -> Noted:
    """The two rows of a slice; where no score is positive, the first of the largest."""
    top = int(np.argmax(scores))
    score = float(scores[top])
    if score <= 0:
        return Noted(top, top, score, score, score)
    raised = scores + slack
    first = int(np.argmax((raised >= score) & (scores > 0)))
    return Noted(first, top, score, float(raised[first]), float(raised[top]))


def _products(directions: Floats, block: Block) -> Callable[[slice], Floats]:
    """Of every direction with the rows of a slice; slices of sparse rows would be copies."""
    if is_sparse(block):
        whole = np.ascontiguousarray((block @ np.ascontiguousarray(directions.T)).T)
        return lambda some: whole[:, some]
    return lambda some: np.asarray(directions @ block[some].T, dtype=np.float64)


def _slice_rows(block: Block, n_directions: int) -> int:
    """All rows if there is but one step; else so few that they stay in the cache."""
    if n_directions <= 1:
        return int(block.shape[0])
    columns = 1 if is_sparse(block) else block.shape[1]
    return max(LEAST_SLICE, rows_of_a_slice(max(columns, n_directions)))
