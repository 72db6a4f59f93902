"""Alternating nonnegative gradient descent (AND).

Li & Liang, "Provable alternating gradient descent for non-negative matrix factorization with
strong correlations", ICML 2017 (Li17), Algorithm 1.

    Li17                          here
    y = A* x, points in columns   data = weights @ components, points in rows
    A (W × D), A^(0)              components (k, d), transposed
    A† y                          raw = data @ decoder
    z = φ_α(A† y)                 decoded: raw where raw ≥ threshold, else 0
    α_j                           thresholds (one per component in the adaptive schedule)
    η, T                          step_size (on sums over the rows), n_steps
    D                             n_components

One stage: decode with the components it starts from, then T gradient steps on
½‖data − decoded @ components‖²_F (a sum over rows and columns) with the decoded weights fixed.

Differs: T steps need only decodedᵀ decoded and decodedᵀ data, so a stage is one pass over the data
and the steps are taken in closed form, giving the paper's iterates to rounding; n_steps=None goes
to their limit.

The adaptive schedule is ours and described in `adaptive.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import absolute_row_sums, inverse_where_positive, largest_row_sum
from provenmf.methods.and_descent.adaptive import (
    SETTINGS,
    TINY,
    Candidate,
    Contest,
    components_to_watch,
    decoded_movement,
    most_dependent,
    next_thresholds,
    project_to_span,
    refit_facets,
    restart,
)
from provenmf.methods.and_descent.kernels import (
    DEPENDENT,
    Array,
    StageState,
    StageSums,
    after_all_gradient_steps,
    after_gradient_steps,
    decoded_level,
    decoder_of,
    stage_sums,
)
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import AndState

Schedule = Literal["adaptive", "paper", "theorem-4"]
PAPER_STEPS = 50  # T in the paper's experiments


@dataclass(frozen=True)
class StageRule:
    """Settings of a stage: the parameters of `AND` of the same names.

    project_start : project the start onto the span of the data first; adaptive schedule only. The
        paper's schedule, where it runs besides, takes the start as it is.
    """

    schedule: Schedule = "adaptive"
    alpha: float = 0.1
    decay: float = 1.1
    n_steps: int | None = None
    step_size: float | None = None
    scale_rows: bool = True
    project_start: bool = False

    def threshold(self, stage: int) -> float:
        """Return α_j = α/decay^j, j = 1, 2, …, as the authors' code; stages count from 0 here."""
        with np.errstate(over="ignore"):  # a threshold below the smallest number is zero
            return float(self.alpha / np.float64(self.decay) ** (stage + 1))


def and_descent(
    blocks: Blocks,
    start: NDArray[np.floating],
    *,
    rule: StageRule | None = None,
    max_iter: int = 300,
    tol: float = 1e-10,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find components by alternating nonnegative gradient descent from `start` (k, d).

    Stops when no component moves by more than `tol` of its length (or the data's precision, if that
    is coarser) and no threshold has room to fall. With the adaptive schedule, components that are
    dependent, or unused at the end, are restarted, each time from the row that is explained worst.
    If its components come to rest with thresholds above zero, the paper's schedule runs too, and
    the better result is returned: the start itself, and the stop reason says so, if none is better.

    Returns
    -------
    Solution with a trace of, per stage: alpha (median threshold), support (decoded weights per
    row), movement (largest relative move of a component), error (estimate of Li17's ‖E‖₂ at the
    beginning of the stage), watched (refitted components), restarts (so far).
    """
    rule = rule or StageRule()
    stages = Stages(blocks, rule, start, max(tol, 8 * float(np.finfo(blocks.dtype).eps)))
    state = stages.first()
    run = Run(max_iter, callback=callback, verbose=verbose, name="AND")
    if run.saved is not None:
        state, sums = StageState(**run.saved["state"]), StageSums(**run.saved["sums"])
        stages.contest = Contest.restored(run.saved["contest"])
    run.keeps(lambda: {"state": state, "sums": sums, "contest": vars(stages.contest)})
    for _ in run:
        state = stages.independent(state)
        sums = stages.decode(state)
        new = stages.update(state, sums)
        run.record(
            alpha=float(np.median(state.thresholds)),
            support=float(sums.support.sum() / sums.rows),
            movement=relative_movement(state.components, new.components),
            error=estimated_error(state.components, new.decoder),
            watched=len(state.watched),
            restarts=stages.contest.restarts,
        )
        state, reason = stages.what_next(state, sums, new)
        if reason is not None:
            run.stop(reason)

    final, reason = stages.best(Candidate.of(state, sums), run.stop_reason)
    run.stop(reason)
    warn_of_degeneracy(final.state, final.support)
    return Solution(
        components=(final.state.components * stages.length).astype(blocks.dtype, copy=False),
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=AndState(thresholds=final.state.thresholds, support=final.support),
    )


class Stages:
    """The stages of AND on some rows: each is one pass and one update."""

    def __init__(
        self, blocks: Blocks, rule: StageRule, start: NDArray[np.floating], tol: float
    ) -> None:
        self.blocks, self.rule, self.start, self.tol = blocks, rule, start, tol
        self.adaptive = rule.schedule == "adaptive"
        self.contest = Contest()
        self.lowest = 0.0  # threshold that has no room to fall, known with the first one
        self.row_scales, self.length = np.ones(blocks.n_rows), 1.0
        if rule.scale_rows:
            sizes = blocks.map_rows(absolute_row_sums)
            if not sizes.any():
                raise InvalidInput("X is zero everywhere: there is nothing to factorize")
            self.row_scales = inverse_where_positive(sizes)
            self.length = float(np.median(sizes[sizes > 0]))

    @property
    def adapts(self) -> bool:
        """Whether the next stage is one of the adaptive schedule."""
        return self.adaptive and self.contest.at_rest is None

    def first(self) -> StageState:
        """Return the state before the first stage."""
        components = np.array(self.start, dtype=np.float64)
        if self.rule.project_start and self.adaptive:
            components = project_to_span(self.blocks, components, self.row_scales)
        if self.rule.scale_rows:
            components *= inverse_where_positive(absolute_row_sums(components))[:, None]
        k = len(components)
        decoder, independence = decoder_of(components)
        threshold = self._first_threshold(decoder) if self.adaptive else self.rule.threshold(0)
        self.lowest = self.tol * threshold
        return StageState(
            components=components,
            decoder=decoder,
            independence=independence,
            thresholds=np.full(k, threshold),
            watched=np.empty(0, dtype=np.intp),
            movement=np.full(k, np.inf),
            size_when_watched=np.full(k, np.inf),
        )

    def independent(self, state: StageState) -> StageState:
        """Restart a component that depends on the others, in the adaptive schedule."""
        if self.adapts and state.independence < DEPENDENT and self._may_restart:
            return self.restarted(state, most_dependent(state.components, state.decoder))
        return state

    def what_next(
        self, state: StageState, sums: StageSums, new: StageState
    ) -> tuple[StageState, StopReason | None]:
        """Return the state before the next stage, and why there is none."""
        contest, adapts = self.contest, self.adapts
        if self.adaptive:
            contest.judge(state, sums)
        moved = relative_movement(state.components, new.components)
        low = new.thresholds <= self.lowest
        waits = not adapts or bool(np.all(low | (new.thresholds > 0.9 * state.thresholds)))
        still = moved <= self.tol and waits and bool(sums.support.any())
        unused = np.flatnonzero(sums.support == 0)
        if adapts and still and unused.size and self._may_restart:
            return self.restarted(new, int(unused[0])), None
        if still and (low.all() or not adapts or contest.exact):
            return new, StopReason.CONVERGED
        if low.all() and not sums.support.any():
            return new, StopReason.NO_WEIGHTS
        if adapts and (still or (moved > SETTINGS.moving and contest.slow(self.rule.decay))):
            return self._for_the_paper(contest.rest(converged=still)), None
        return new, StopReason.STALLED if contest.over else None

    def best(self, last: Candidate, reason: StopReason) -> tuple[Candidate, StopReason]:
        """Return the components to take and why the run ended with them."""
        return self.contest.winner(last, reason) if self.adaptive else (last, reason)

    @property
    def _may_restart(self) -> bool:
        return self.contest.restarts < len(self.start)

    def _for_the_paper(self, first: StageState) -> StageState:
        """Return the state before the first stage of the paper's schedule."""
        if self.rule.project_start:
            first = first.with_components(np.array(self.start, dtype=np.float64) / self.length)
        return replace(first, thresholds=np.full(len(self.start), self.rule.threshold(0)))

    def _first_threshold(self, decoder: Array) -> float:
        level = decoded_level(self.blocks, decoder, self.row_scales)
        return SETTINGS.first_share * max(level, TINY)

    def decode(self, state: StageState) -> StageSums:
        """Decode the rows and sum up what the stage needs of them, in one pass."""
        return stage_sums(
            self.blocks,
            state.decoder,
            state.thresholds,
            self.row_scales,
            watched=state.watched,
            for_update_only=not self.adaptive,
        )

    def update(self, state: StageState, sums: StageSums) -> StageState:
        """Update the components and thresholds; repair components in the adaptive schedule."""
        if self.adapts:
            return self.adapted(state, sums)
        rule = self.rule
        if self.adaptive and rule.n_steps is None:
            rule = replace(rule, n_steps=PAPER_STEPS)
        return self.scheduled(state, updated_components(state.components, sums, rule), sums)

    def scheduled(self, state: StageState, components: Array, sums: StageSums) -> StageState:
        """Return the next state with the threshold of the paper's schedule or of Theorem 4."""
        stage = state.stage + 1
        new = state.with_components(components, stage=stage)
        threshold = self.rule.threshold(stage)
        if self.rule.schedule == "theorem-4":
            error = estimated_error(state.components, new.decoder)
            threshold = min(theorem_4_threshold(error, sums), float(state.thresholds[0]))
        return replace(new, thresholds=np.full(len(components), threshold))

    def adapted(self, state: StageState, sums: StageSums) -> StageState:
        """Return the next state of the adaptive schedule."""
        components = updated_components(state.components, sums, self.rule)
        components = refit_facets(components, state.decoder, sums, state.watched)
        sizes = absolute_row_sums(components)
        components *= (absolute_row_sums(state.components) * inverse_where_positive(sizes))[:, None]
        new = state.with_components(components, stage=state.stage + 1)
        movement = decoded_movement(state.components @ new.decoder, sums)
        watched = state.watched[:0]
        size_when_watched = state.size_when_watched.copy()
        if new.stage >= SETTINGS.first_watched:
            watched = components_to_watch(state, movement, sums)
            size_when_watched[watched] = sums.negative_size[watched]
        return replace(
            new,
            thresholds=next_thresholds(state.thresholds, movement, sums),
            watched=watched,
            movement=movement,
            size_when_watched=size_when_watched,
        )

    def restarted(self, state: StageState, component: int) -> StageState:
        """Return the state with one component taken from the data again."""
        self.contest.restarts += 1
        components = restart(self.blocks, state.components, self.row_scales, component)
        new = state.with_components(components, watched=state.watched[:0])
        thresholds = state.thresholds.copy()
        thresholds[component] = self._first_threshold(new.decoder)
        return replace(new, thresholds=thresholds)


def updated_components(components: Array, sums: StageSums, rule: StageRule) -> Array:
    """Take the gradient steps of Li17's Algorithm 1, lines 3 to 7, over the whole data."""
    if rule.n_steps is None:
        return after_all_gradient_steps(components, sums.cross, sums.gram)
    step_size = rule.step_size
    if step_size is None:
        step_size = 0.5 / len(components)
        if step_size * largest_row_sum(sums.gram) >= 2.0:  # a bound on the largest eigenvalue
            largest = float(np.linalg.eigvalsh(sums.gram)[-1])
            step_size = 1.0 / largest if step_size * largest >= 2.0 else step_size
    with np.errstate(over="ignore", invalid="ignore"):
        moved = after_gradient_steps(
            components, sums.cross, sums.gram, step_size=step_size, steps=rule.n_steps
        )
    if not np.abs(moved).max() < 1e100:
        raise InvalidInput(
            "makes the gradient steps diverge",
            argument="step_size",
            value=step_size,
            remedy=f"give one below {2.0 / largest_row_sum(sums.gram):.3g}, or None",
        )
    return moved


def theorem_4_threshold(error: float, sums: StageSums) -> float:
    """Return α = (λ‖E₀‖/r)^(2/(q+1)), q = 1, of Li17's Theorem 4 from the weights of a stage.

    λ = 2 λ_min(Δ)/max Δ_ii with Δ = E[zzᵀ] (Definition 1), r is the mean number of weights of a
    row, which bounds the mean of ‖x‖₁, and ‖E₀‖ is estimated from the last stage.
    """
    moments = sums.gram / max(float(sums.rows), 1.0)
    largest = float(np.diag(moments).max())
    if largest <= 0:
        return 0.0
    lam = 2 * max(float(np.linalg.eigvalsh(moments)[0]), 0.0) / largest
    r = max(float(sums.support.sum() / sums.rows), 1.0)
    return float(lam * error / r)


def relative_movement(old: Array, new: Array) -> float:
    """Return the largest move of a component, relative to its new length."""
    moves = np.linalg.norm(new - old, axis=1)
    return float(np.max(moves * inverse_where_positive(np.linalg.norm(new, axis=1))))


def estimated_error(old: Array, new_decoder: Array) -> float:
    """Estimate ‖E‖₂ in old = A*(Σ + E) of Li17, Definition 2, the new components taken as A*.

    With rows for columns, old @ pinv(new) = Σ + E; each row is divided by its entry of Σ.
    """
    mixing = old @ new_decoder
    diagonal = np.diag(mixing)
    scaled = (
        mixing * np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal != 0)[:, None]
    )
    np.fill_diagonal(scaled, 0.0)
    return float(np.linalg.norm(scaled, 2))


def warn_of_degeneracy(state: StageState, support: Array) -> None:
    """Warn about components that are dependent or that no row uses."""
    if state.independence < DEPENDENT:
        warn_user(
            DegenerateData(
                "AND ended with linearly dependent components",
                remedy="ask for fewer, or start elsewhere",
            )
        )
    unused = np.flatnonzero(support == 0)
    if unused.size:
        warn_user(
            DegenerateData(
                f"AND ended with {unused.size} components that no row uses, the first is "
                f"{unused[0]}",
                remedy="ask for fewer, or lower the threshold",
            )
        )
