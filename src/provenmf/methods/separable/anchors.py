"""Shared by the methods that choose rows as anchors: counting anchors, the estimator.

A subclass of `AnchorFactorizer` finds the anchors; with `vertices=True` the components are then
means of the rows around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.data import Block, Blocks
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import SAFE_LENGTHS, inverse_where_positive, row_sums
from provenmf.linalg.storage import as_dense
from provenmf.methods.base import Factorizer
from provenmf.methods.run import Run
from provenmf.methods.separable.vertices import average_vertices
from provenmf.results import Solution, StopReason
from provenmf.results.states import AnchorState

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
