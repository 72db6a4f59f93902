"""One pass of `farthest.py` over a block: how far its rows are after several steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block
from provenmf.blocks.parts import Part
from provenmf.linalg.norms import rows_of_a_slice, squared_row_norms
from provenmf.linalg.orthogonal import ROUNDING, without_rounding
from provenmf.parallel import for_row_slices
from provenmf.solvers.separable.leaders import places_in
from provenmf.storage import as_dense, is_sparse

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
class Lookahead:
    """Steps that are sure, steps that are guessed, and random directions to find far rows by.

    Parameters
    ----------
    anchors, guessed : rows chosen, which are left out, and rows that may be chosen next.
    directions : those that the last anchors add to the span, those that the guessed rows add, and
        random ones.
    n_random : how many of them are random.
    origin : where the span starts; None for zero.
    longest : squared length whose rounding counts as zero; None for each row's own.
    wanted : rows to bring for each step and each end of a random direction.
    """

    anchors: list[int]
    guessed: list[int]
    directions: Floats
    n_random: int
    origin: Floats | None
    longest: float | None
    wanted: int

    def begin(self, factors: Factors | None) -> Callable[..., Part]:
        """The pass that measures the rows first."""

        def measured(block: Block, rows: range, *given: Floats) -> Part:
            each = np.ones(len(rows)) if factors is None else factors(block, *given)
            lengths = squared_row_norms(block) * each**2
            squared = lengths
            if self.origin is not None:
                squared = lengths - 2 * ((block @ self.origin) * each) + self.origin @ self.origin
            return self.go_on(block, rows, (each, lengths, squared))

        return measured

    def go_on(self, block: Block, rows: range, part: Part) -> Part:
        """The pass over rows of which factor, squared length and squared distance are known.

        These three are kept, with what is brought.
        """
        factors, lengths, known = part[:3]
        squared = np.empty(len(rows))
        noted: dict[int, list[Noted]] = {}
        products_of = _products(self.directions, block)

        def look(some: slice) -> None:
            along = products_of(some) * factors[some]
            scores = self._scores(along, rows[some], factors[some], lengths[some], known[some])
            sure, slack = next(scores)
            squared[some] = sure
            noted[some.start] = [_noted(sure, slack), *(_noted(*guess) for guess in scores)]

        for_row_slices(look, len(rows), slice_rows=self._slice_rows(block))
        return factors, lengths, squared, *self._brought(block, rows, factors, noted)

    def _slice_rows(self, block: Block) -> int:
        """All rows if there is but one step; else so few that they stay in the cache."""
        if len(self.directions) <= 1:
            return block.shape[0]
        columns = 1 if is_sparse(block) else block.shape[1]
        return max(LEAST_SLICE, rows_of_a_slice(max(columns, len(self.directions))))

    def _scores(
        self, along: Floats, rows: range, factors: Floats, lengths: Floats, squared: Floats
    ) -> Iterator[tuple[Floats, Floats | float]]:
        """Squared distances and their slack after each step; then ends of random directions."""
        if self.origin is not None:
            along = along - (self.directions @ self.origin)[:, None]
        scale = lengths if self.longest is None else np.full(len(lengths), self.longest)
        slack = 10 * ROUNDING * scale
        sure = len(along) - len(self.guessed) - self.n_random
        for direction in along[:sure]:
            squared = squared - direction**2
        squared = without_rounding(squared, scale)
        squared[factors == 0] = 0.0
        squared[places_in(rows, self.anchors)] = 0.0
        yield squared, slack
        for row, direction in zip(self.guessed, along[sure:]):
            squared = without_rounding(squared - direction**2, scale)
            squared[places_in(rows, [row])] = 0.0
            yield squared, slack
        for direction in along[len(along) - self.n_random :]:
            yield direction, 0.0
            yield -direction, 0.0

    def _brought(
        self, block: Block, rows: range, factors: Floats, noted: dict[int, list[Noted]]
    ) -> Seen:
        """Candidates of each step, and the farthest rows of the slices as material for guesses."""
        starts = np.array(sorted(noted))
        table = np.array([noted[start] for start in starts])  # slices, columns, fields
        places = table[:, :, :2].astype(np.intp) + starts[:, None, None]
        scores, raised = table[:, :, 2], table[:, :, 3:]
        steps = 1 + len(self.guessed)
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
