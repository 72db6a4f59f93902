"""What the methods that choose anchor rows share: reading rows, scaling, counting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import SAFE_LENGTHS, row_sums
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.linalg.storage import as_dense
from provenmf.methods.run import Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import AnchorState

# Anchors tried at the most when their number is to be found.
MOST_ANCHORS = 100


def dense_rows(blocks: Blocks, rows: Sequence[int] | NDArray[np.integer]) -> NDArray[Any]:
    """The given rows as a dense array."""
    return as_dense(blocks.take(np.asarray(rows, dtype=np.intp)))


def dense_row(blocks: Blocks, row: int) -> NDArray[np.float64]:
    """One row as a dense vector in double precision."""
    return np.asarray(dense_rows(blocks, [row])[0].astype(np.float64))


def row_scales(block: Block) -> NDArray[np.float64]:
    """One over the sum of each row; zero for rows that sum to nothing, which then never win.

    Nothing is also what has no squares: the smallest numbers would be scaled to infinity.
    """
    sums = row_sums(block)
    return inverse_where_positive(np.where(sums >= SAFE_LENGTHS[0], sums, 0.0))


def number_to_try(blocks: Blocks, n_components: int | None, most: int | None = None) -> int:
    """How many anchors to look for: those asked for, or as many as the method could find."""
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


def settle_number(
    anchors: list[int], residuals: Sequence[float], n_components: int | None, run: Run
) -> tuple[list[int], float]:
    """The anchors to return, and how clear their number is.

    `residuals` holds, for each anchor, the residual length with which it was chosen, and last
    the largest residual length that remains. With n_components=None the anchors up to the
    largest ratio of successive residuals are kept, and that ratio is returned; otherwise the
    ratio at the number asked for. With no anchor at all, the data being zero, row 0 is one.
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
                remedy=f"{kept} components are returned; ask for at most that many",
            )
        )
    return anchors[:kept], float(drops[kept - 1]) if values[kept - 1] > 0 else math.nan


def anchor_solution(blocks: Blocks, anchors: list[int], drop: float, run: Run) -> Solution:
    """The chosen rows as components; a run that found all the anchors it was to find converged."""
    return Solution(
        components=dense_rows(blocks, anchors),
        anchors=np.array(anchors, dtype=np.intp),
        trace=run.trace,
        stop_reason=(
            StopReason.CONVERGED if run.stop_reason is StopReason.MAX_ITER else run.stop_reason
        ),
        state=AnchorState(drop),
    )
