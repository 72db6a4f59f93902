"""What methods that choose rows share: how many to choose, the farthest row, the estimator.

A subclass of `AnchorFactorizer` finds the anchors; with `vertices=True` the components are then
means of the rows around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.budget import computed_once
from provenmf.data import Block, Blocks, Part
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import SAFE_LENGTHS, first_largest, inverse_where_positive, row_sums
from provenmf.linalg.storage import as_dense
from provenmf.methods.base import Factorizer
from provenmf.methods.run import Run
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


# The row farthest from those chosen before, again and again, in few passes.
#
# SPA, FastAnchor and cone NMF are greedy: they choose the row with the largest score (its distance
# from the span of the chosen rows, say), which lowers the scores of all others, and repeat. Their
# papers read all rows for every choice. A score only falls, though, so that an earlier one is an
# upper bound. A pass therefore collects a *pool* of the rows with the largest scores. As long as
# the largest of the pool exceeds all scores outside it, it is the largest of all and needs no
# further pass. The chosen rows are those of the papers; the passes are few, and each is one matrix
# product with all that was chosen since the pass before.
#
# Scores that differ by rounding only are equal, and the first of equal rows is chosen: how the rows
# are cut into blocks decides nothing.

POOL_ROWS = 512  # enough for dozens of choices
POOL_ENTRIES = 1 << 22  # at most, of these rows: 32 MB


class Scores(Protocol):
    """Scores of rows that fall with every chosen vector; zero for a row that is never chosen."""

    def begin(self, block: Block) -> tuple[Floats, Floats]:
        """Return the constants (n, m) and the first score (n,) of each row."""

    def after(self, block: Block, known: Floats, scores: Floats, vectors: NDArray[Any]) -> Floats:
        """Return the scores of rows after further vectors (one a row) were chosen."""

    def rounding(self, known: Floats) -> Floats:
        """Return by how much the score of a row may be off."""


class FarthestRows:
    """A pool of the rows with the largest scores: few rows are measured again for each choice.

    Parameters
    ----------
    blocks : the data.
    scores : how far a row is from what was chosen.
    """

    def __init__(self, blocks: Blocks, scores: Scores) -> None:
        self.blocks, self._scores = blocks, scores
        room = POOL_ENTRIES * blocks.n_rows // max(1, blocks.stored_entries)
        self._size = max(1, min(POOL_ROWS, blocks.n_rows // 8, room))
        self._state = blocks.keep(partial(_begun, scores), range(blocks.n_rows))
        self._chosen: list[int] = []
        self._vectors: list[NDArray[Any]] = []  # chosen since the last pass
        self._pool: Indices = np.empty(0, dtype=np.intp)
        self._pool_scores = np.empty(0)
        self._outside = np.inf  # no row outside the pool has a larger score

    @computed_once
    def known(self) -> Floats:
        """Return the constants of all rows (n, m)."""
        return self._state.array(lambda part: part[1])

    def known_of(self, number: int) -> Floats:
        """Return the constants of a row of the pool."""
        return np.asarray(self._pool_known[np.flatnonzero(self._pool == number)[0]])

    def farthest(self) -> tuple[int, float]:
        """Return the row with the largest score, the first of equal ones, and the score."""
        if len(self._pool) and self._pool_scores.max() > self._outside:
            place = first_largest(self._pool_scores, self._scores.rounding(self._pool_known))
            return int(self._pool[place]), float(self._pool_scores[place])
        return self._measure()

    def choose(self, rows: Sequence[int], vectors: NDArray[Any]) -> None:
        """Let rows be chosen, and scores fall by these vectors (m, d)."""
        self._chosen.extend(rows)
        self._vectors.extend(vectors)
        if len(self._pool):
            known, before = self._pool_known, self._pool_scores
            self._pool_scores = self._scores.after(self._block, known, before, vectors)
            self._pool_scores[np.isin(self._pool, rows)] = 0.0

    def row(self, number: int) -> NDArray[Any]:
        """Return the entries of a row, without a read where it is in the pool."""
        place = np.flatnonzero(self._pool == number)
        found = self._block[place] if place.size else self.blocks.take(np.array([number]))
        return np.asarray(as_dense(found)[0])

    def _measure(self) -> tuple[int, float]:
        """Make a pass over all rows; return the farthest and collect a new pool."""
        best = partial(_best, self._scores, np.array(self._chosen, dtype=np.intp), self._size)
        if self._vectors:
            measured = partial(_measured, self._scores, np.array(self._vectors), best)
            found, self._state = self.blocks.sum_and_keep(measured, self._state)
            self._vectors = []
        else:
            found = self._state.sum(best)
        rows, known, scores, raised = map(np.concatenate, zip(*(some for some, _ in found)))
        equal = (scores > 0) & (raised >= scores.max())
        first = int(rows[equal].min()) if equal.any() else int(rows[0])
        pool = np.zeros(len(rows), dtype=bool)
        pool[np.argsort(-raised, kind="stable")[: self._size]] = True
        pool[rows == first] = True
        self._pool, self._pool_known, self._pool_scores = rows[pool], known[pool], scores[pool]
        self._block = self.blocks.take(self._pool)
        self._outside = max(float(raised[~pool].max(initial=0.0)), *(rest for _, rest in found))
        return first, float(scores[rows == first][0])


# What a pass stores of a block: its first row, and the constants and scores of its rows.


def _begun(scores: Scores, block: Block, rows: range) -> Part:
    known, first = scores.begin(block)
    return np.array([rows.start]), known, first


def _measured(
    scores: Scores,
    vectors: NDArray[Any],
    best: Callable[[Part], list[Any]],
    block: Block,
    part: Part,
) -> tuple[list[Any], Part]:
    start, known, before = part
    after = start, known, scores.after(block, known, before, vectors)
    return best(after), after


def _best(
    scores: Scores, chosen: Indices, size: int, part: Part
) -> list[tuple[tuple[Indices, Floats, Floats, Floats], float]]:
    """Return the rows of a block that may belong to the pool, and the largest score of the others.

    Numbers, constants, scores, and scores raised by their rounding. Among them are all rows that
    can be the first of those that equal the largest score of all blocks.
    """
    (start,), known, found = part
    found = found.copy()
    found[chosen[(chosen >= start) & (chosen < start + len(found))] - start] = 0.0
    raised = found + scores.rounding(known)
    largest = np.where(found > 0, raised, -np.inf)
    before = np.maximum.accumulate(np.append(-np.inf, largest[:-1]))
    kept = (largest > before) & (largest >= found.max())
    kept[found.argmax()] = True
    kept[np.argpartition(-raised, min(size, len(raised)) - 1)[:size]] = True
    some = np.flatnonzero(kept)
    rest = float(raised[~kept].max(initial=0.0))
    return [((start + some, known[some], found[some], raised[some]), rest)]


@dataclass(eq=False, repr=False, kw_only=True)
class AnchorFactorizer(Factorizer):
    """Base of methods whose components are anchors, or with `vertices` means of rows around them.

    A subclass gives `_anchors_of` in place of `_solve`, and says in which sense rows are mixtures.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None finds it.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.
    """

    vertices: bool = False
    row_errors: Annotated[ArrayLike, "array-like"] | None = None

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
