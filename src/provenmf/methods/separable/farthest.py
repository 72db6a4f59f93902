"""The row farthest from the span of rows chosen before, several steps of it in one pass.

Greedy methods take the farthest row, project it out of all others and repeat: a pass over the data
for each step. Where a pass has to read a file or to ask a cluster, it also looks ahead. It guesses
the rows of the next steps, projects them out one after the other, and finds the farthest row of
every step. As long as that row is the one guessed, the step is exactly the one that would have been
made alone, so the answer is the same. After a wrong guess the rest of the pass is lost, but the
rows that it found far off make better guesses for the next one.

The guesses come from the greedy method itself, applied to the rows seen so far: those that were
farthest in earlier steps and, at first, those at the ends of random directions. Fifty steps then
take three to six passes on data with anchors, and never more than one pass each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.data.base import ByRow
from provenmf.data.parts import Parts
from provenmf.linalg.orthogonal import ROUNDING, orthogonal_part
from provenmf.linalg.storage import as_dense
from provenmf.methods.separable.lookahead import Faces, Factors, Lookahead, Pass, Seen, seen_in

Floats = NDArray[np.float64]

BROUGHT_BYTES = 64e6  # rows that a pass brings here at the most
ROWS_OF_A_STEP = 64  # brought of all blocks, and at least one of each


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
    most : how many steps are wanted at the most; guesses end there.
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
        self._state: Parts | None = None
        self._projected = 0  # so many vectors of the basis are projected out of the state
        self._points: dict[int, Floats] = {}
        self._known: dict[tuple[int, ...], Farthest] = {}
        self._n_blocks = sum(1 for _ in blocks.ranges())
        room = BROUGHT_BYTES / (8 * blocks.n_columns * self._n_blocks)
        self._room = 1 if blocks.in_memory else max(1, int(room))

    def measure_from(self, origin: Floats, longest: float) -> None:
        """Let the span start at a point; squares that rounding of `longest` explains are zero."""
        self._origin, self._longest = origin, longest
        self._state, self._projected, self._known = None, 0, {}

    def after(self, anchors: Sequence[int], basis: Floats) -> Farthest:
        """The row farthest from the span of the orthonormal `basis`, the anchors left out.

        Of rows that are equally far up to rounding the first one is taken.
        """
        if tuple(anchors) not in self._known:
            self._look(list(anchors), basis)
        return self._known[tuple(anchors)]

    def _look(self, anchors: list[int], basis: Floats) -> None:
        """A pass that tells the next step and, where the guesses are right, those behind it."""
        guessed, added = self._guessed(anchors, basis)
        n_random = 0 if self._points else min(self._most, self._room // 2)
        random = np.random.default_rng(0).standard_normal((n_random, self._blocks.n_columns))
        columns = 1 + len(guessed) + 2 * n_random
        wanted = max(1, min(self._room // columns, ROWS_OF_A_STEP // self._n_blocks))
        further = np.vstack([added, random])
        found = self._seen(Lookahead(*self._sure(anchors, basis), further, wanted, guessed), basis)
        self._known = {
            (*anchors, *guessed[:step]): self._first(found, step)
            for step in range(1 + len(guessed))
        }

    def without_each(
        self, anchors: Sequence[int], basis: Floats, normals: Floats, feet: Floats
    ) -> list[Farthest]:
        """For each anchor the row farthest from the span of the others, all in one pass.

        `basis` is that of all anchors. Of each anchor, `normals` has the unit vector in its span
        that is normal to the span of the others, and `feet` a point of the latter.
        """
        found = self._seen(Faces(*self._sure(list(anchors), basis), normals, 1, feet), basis)
        return [self._first(found, step) for step in range(len(normals))]

    def points(self, rows: Sequence[int]) -> Floats:
        """Points of the given rows."""
        new = np.array([row for row in rows if row not in self._points], dtype=np.intp)
        if new.size:
            block = self._blocks.take(new)
            points = as_dense(block).astype(np.float64)
            if self._factors is not None:
                points *= self._factors(block, *(np.asarray(g)[new] for g in self._given))[:, None]
            self._points.update(zip(new.tolist(), points))
        return np.array([self._points[row] for row in rows])

    def _sure(
        self, anchors: list[int], basis: Floats
    ) -> tuple[list[int], Floats, Floats | None, float | None]:
        """What every pass begins with: it takes up what the last ones did not project out."""
        return anchors, basis[self._projected :], self._origin, self._longest

    def _seen(self, one: Pass, basis: Floats) -> list[Seen]:
        """What a pass brings; squared distances from the span of the basis stay with the rows."""
        rows = range(self._blocks.n_rows)
        if self._state is None:
            self._state = self._blocks.keep(one.begin(self._factors), rows, *self._given)
        else:
            self._state = self._blocks.keep(one.go_on, rows, self._state)
        self._projected = len(basis)
        found = list(self._state.each(seen_in))
        for seen in found:
            self._points.update(zip(seen.rows.tolist(), seen.points))
        return found

    def _first(self, found: Sequence[Seen], step: int) -> Farthest:
        """Lowest row whose squared distance comes within its slack of the largest one."""
        largest = max(float(seen.largest[step]) for seen in found)
        for seen in found:
            near = seen.candidates[(seen.steps == step) & (seen.raised >= largest)]
            if near.size:
                row = int(near.min())
                return Farthest(row, self._points[row], largest)
        raise AssertionError("the farthest row is among the candidates")

    def _guessed(self, anchors: list[int], basis: Floats) -> tuple[list[int], Floats]:
        """The rows that come next among those seen, and the direction that each adds."""
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
