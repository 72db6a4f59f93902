"""Alternating nonnegative gradient descent (AND).

Li & Liang, "Provable alternating gradient descent for non-negative matrix factorization with
strong correlations", ICML 2017 (Li17), Algorithm 1.

    Li17                          here
    y = A* x, points in columns   data = weights @ components, points in rows
    A (W × D), A^(0)              components (k, d), transposed
    A† y                          raw = data @ decoder
    z = φ_α(A† y)                 decoded: raw where raw ≥ threshold, else 0
    α_j                           thresholds (one per component in the adaptive schedule)
    η, T                          step_size (on sums over the rows), inner_steps
    D                             n_components

One stage: decode with the components it starts from, then T gradient steps on
½‖data − decoded @ components‖²_F (a sum over rows and columns) with the decoded weights fixed.

Differs: T steps need only decodedᵀ decoded and decodedᵀ data, so a stage is one pass over the data
and the steps are taken in closed form, giving the paper's iterates to rounding; steps="exact" goes
to their limit. schedule="adaptive" is ours, see `and_schedule` and `and_facets`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.errors import DegenerateData, warn_user
from provenmf.methods.and_descent.decoding import DEPENDENT
from provenmf.methods.and_descent.restart import most_dependent
from provenmf.methods.and_descent.stage import (
    Array,
    StageRule,
    StageState,
    first_state,
    next_state,
    pass_over,
    relative_movement,
    restarted,
    row_scales_and_length,
)
from provenmf.methods.and_descent.sums import StageSums
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import AndState


def and_descent(
    blocks: Blocks,
    start: NDArray[np.floating],
    *,
    rule: StageRule | None = None,
    max_iter: int = 200,
    tol: float = 1e-10,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Components by alternating nonnegative gradient descent from `start` (k, d).

    Stops when no component moves by more than `tol` of its length (or the data's precision, if that
    is coarser) and no threshold has room to fall. With the adaptive schedule, components that are
    dependent, or unused at the end, are restarted, each time from the row that is explained worst.

    Returns
    -------
    Solution with a trace of, per stage: alpha (median threshold), support (decoded weights per
    row), movement (largest relative move of a component), error (estimate of Li17's ‖E‖₂ at the
    beginning of the stage), watched (refitted components), restarts (so far).
    """
    rule = rule or StageRule()
    tol = max(tol, 8 * float(np.finfo(blocks.dtype).eps))
    scales, length = row_scales_and_length(blocks, rule)
    state = first_state(blocks, start, scales, rule)
    lowest = tol * float(np.max(state.thresholds))
    may_restart = len(state.components) if rule.schedule == "adaptive" else 0
    restarts = 0

    run = Run(max_iter, callback=callback, verbose=verbose, name="AND")
    if run.saved is not None:
        state, sums = StageState(**run.saved["state"]), StageSums(**run.saved["sums"])
        restarts = run.saved["restarts"]
    run.keeps(lambda: {"state": state, "sums": sums, "restarts": restarts})
    for _ in run:
        if state.independence < DEPENDENT and restarts < may_restart:
            dependent = most_dependent(state.components, state.decoder)
            state = restarted(blocks, state, scales, dependent)
            restarts += 1
        sums = pass_over(blocks, state, scales, rule)
        new = next_state(state, sums, rule)
        moved = relative_movement(state.components, new.components)
        run.record(
            alpha=float(np.median(state.thresholds)),
            support=float(sums.support.sum() / sums.rows),
            movement=moved,
            error=estimated_error(state.components, new.decoder),
            watched=len(state.watched),
            restarts=restarts,
        )
        settled = np.all((new.thresholds > 0.9 * state.thresholds) | (new.thresholds <= lowest))
        if moved <= tol and (settled or rule.schedule == "paper") and sums.support.any():
            unused = np.flatnonzero(sums.support == 0)
            if unused.size and restarts < may_restart:
                new = restarted(blocks, new, scales, int(unused[0]))
                restarts += 1
            else:
                run.stop(StopReason.CONVERGED)
        elif not sums.support.any() and new.thresholds.max() <= lowest:
            run.stop(StopReason.NO_WEIGHTS)
        state = new

    report_degeneracy(state, sums)
    return Solution(
        components=(state.components * length).astype(blocks.dtype, copy=False),
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=AndState(thresholds=state.thresholds, support=sums.support / sums.rows),
    )


def estimated_error(old: Array, new_decoder: Array) -> float:
    """Estimate of ‖E‖₂ in old = A*(Σ + E) of Li17, Definition 2, the new components taken as A*.

    With rows for columns, old @ pinv(new) = Σ + E; each row is divided by its entry of Σ.
    """
    mixing = old @ new_decoder
    diagonal = np.diag(mixing)
    scaled = (
        mixing * np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal != 0)[:, None]
    )
    np.fill_diagonal(scaled, 0.0)
    return float(np.linalg.norm(scaled, 2))


def report_degeneracy(state: StageState, sums: StageSums) -> None:
    """Warn about components that are dependent or that no row uses."""
    if state.independence < DEPENDENT:
        warn_user(
            DegenerateData(
                "AND ended with linearly dependent components",
                remedy="ask for fewer, or start elsewhere",
            )
        )
    unused = np.flatnonzero(sums.support == 0)
    if unused.size:
        warn_user(
            DegenerateData(
                f"AND ended with {unused.size} components that no row uses, the first is "
                f"{unused[0]}",
                remedy="ask for fewer, or lower the threshold",
            )
        )
