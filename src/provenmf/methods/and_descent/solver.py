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

The adaptive schedule is ours. Theorem 4 of Li17 ties the threshold of a stage to the error at its
beginning. The error is not known, but two traces of it are:

* how far the decoded weights moved in the last stage (their root mean square, per component). The
  move is the error that was just removed, so what is left is of that order or smaller;
* negative decoded weights. True weights are nonnegative, so whatever is negative is error, be it
  of the features or from noise in the data, and positive errors are as large.

The next threshold of a component is a multiple of the larger of the two, never more than the last
one (a threshold that rises loses support it had earned) and never less than a tenth of it. It thus
falls tenfold a stage while things go well, waits while they do not, and stays above the noise.

It may wait too long: dense weights have many entries below any threshold that their errors suggest.
So once the thresholds fall more slowly than the paper's, they are lowered as in the paper, by
`decay` a stage, and the stages are judged (`Course`) by the raw weights r of rows and components at
unit absolute sums: by Σ|r|, which is one for nonnegative rows that are mixtures, and by the share
of negative weights. Errors of the features and noise that is taken for signal add weights of either
sign; Σ|r| is the ℓ1 criterion of dictionary learning, and no truth is needed. The start, the
components at rest and those of the best stage compete.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks, as_blocks
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import absolute_row_sums, inverse_where_positive, largest_row_sum
from provenmf.methods.and_descent.kernels import (
    DEPENDENT,
    Array,
    StageSums,
    after_all_gradient_steps,
    after_gradient_steps,
    decoded_level,
    decoder_of,
    stage_sums,
)
from provenmf.methods.and_descent.repairs import (
    most_dependent,
    project_to_span,
    refit_facets,
    restart,
)
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason, Trace
from provenmf.results.states import AndState

Schedule = Literal["adaptive", "paper", "theorem-4"]
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Settings:
    """Constants of the adaptive schedule, chosen on the paper's data sets (k = 50, n = 2000)."""

    first_share: float = 0.5  # first threshold over the size of a large weight
    moves: float = 4.0  # threshold over the root mean square move of the decoded weights
    negatives: float = 3.0  # threshold over the root mean square of negative decoded weights
    fastest: float = 10.0  # largest fall of a threshold in one stage
    heavy_tail: float = 2.0  # rms over mean of the negatives; 1.25 for normal noise
    slow: float = 0.5  # a component that moves more than this share of its last move is slow
    falling: float = 0.95  # negatives above this share of earlier ones did not become smaller
    first_watched: int = 3  # stage; before it errors are too large to tell noise from wrong turns
    # Judging the stages; chosen on dense, binary and noisy weights (k = 40, n = 2000).
    window: int = 20  # stages over which the fall of the thresholds is compared with the paper's
    negatives_matter: float = 0.35  # 0.3 stops early on dense weights, 0.4 fits noise
    moving: float = 1e-5  # components that move less will soon be still
    rises: float = 0.2  # a score that is worse by this than the best one ends the run
    gain: float = 0.5  # by which the components at rest or the start must be beaten


SETTINGS = Settings()


@dataclass(frozen=True)
class StageRule:
    """How a stage works.

    schedule : "paper" uses the threshold alpha/decay^j in stage j = 1, 2, …; "theorem-4" the
        threshold of Li17's Theorem 4, (λ‖E₀‖/r)^(2/(q+1)) with q = `order`, after `alpha` in the
        first stage; "adaptive" chooses thresholds from the course of the run.
    batch_size : rows drawn for each gradient step, as Algorithm 1 allows; None takes all. Not with
        the adaptive schedule; n_steps=None is then 50.
    n_steps : gradient steps of `step_size` (None: 0.5/k as the authors, or 1/‖ZᵀZ‖₂ where that
        diverges); None goes to their limit.
    scale_rows : divide rows and components by the sums of their absolute entries, and return
        components with the median sum of the rows. Otherwise data and start are used as they are.
    project_start : project the start onto the span of the data first; adaptive schedule only.
    """

    schedule: Schedule = "adaptive"
    alpha: float = 0.1
    decay: float = 1.1
    n_steps: int | None = None
    step_size: float | None = None
    batch_size: int | None = None
    order: float = 1.0
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
    max_iter: int = 200,
    tol: float = 1e-10,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find components by alternating nonnegative gradient descent from `start` (k, d).

    Stops when no component moves by more than `tol` of its length (or the data's precision, if that
    is coarser) and no threshold has room to fall. With the adaptive schedule, components that are
    dependent, or unused at the end, are restarted, each time from the row that is explained worst;
    the result is the start itself, and the stop reason says so, if no stage was better.

    Returns
    -------
    Solution with a trace of, per stage: alpha (median threshold), support (decoded weights per
    row), movement (largest relative move of a component), error (estimate of Li17's ‖E‖₂ at the
    beginning of the stage), watched (refitted components), restarts (so far).
    """
    rule = rule or StageRule()
    tol = max(tol, 8 * float(np.finfo(blocks.dtype).eps))
    adaptive = rule.schedule == "adaptive"
    stages = Stages(blocks, rule)
    state = stages.first(start)
    lowest = tol * float(np.max(state.thresholds))
    may_restart = len(state.components) if adaptive else 0
    course = Course()
    seed = 0 if rng is None or rule.batch_size is None else int(rng.integers(2**31))

    run = Run(max_iter, callback=callback, verbose=verbose, name="AND")
    if run.saved is not None:
        state, sums = StageState(**run.saved["state"]), StageSums(**run.saved["sums"])
        course = Course.restored(run.saved["course"])
    run.keeps(lambda: {"state": state, "sums": sums, "course": vars(course)})
    for _ in run:
        if state.independence < DEPENDENT and course.restarts < may_restart:
            state = stages.restarted(state, most_dependent(state.components, state.decoder))
            course.restarts += 1
        if rule.batch_size is None:
            sums = stages.sums(state)
            if adaptive:
                course.judge(state, sums)
            new = stages.next(state, sums, lowered=course.at_rest)
        else:
            new, sums = stages.by_batches(state, np.random.default_rng([seed, state.stage]))
        moved = relative_movement(state.components, new.components)
        run.record(
            alpha=float(np.median(state.thresholds)),
            support=float(sums.support.sum() / sums.rows),
            movement=moved,
            error=estimated_error(state.components, new.decoder),
            watched=len(state.watched),
            restarts=course.restarts,
        )
        floor = bool(new.thresholds.max() <= lowest)
        waits = np.all((new.thresholds > 0.9 * state.thresholds) | (new.thresholds <= lowest))
        still = moved <= tol and bool(waits or not adaptive) and bool(sums.support.any())
        unused = np.flatnonzero(sums.support == 0)
        if course.rises:
            run.stop(StopReason.STALLED)
        elif still and unused.size and course.restarts < may_restart:
            new = stages.restarted(new, int(unused[0]))
            course.restarts += 1
        elif still and (floor or not adaptive):
            course.final = new
            run.stop(StopReason.CONVERGED)
        elif floor and not sums.support.any():
            run.stop(StopReason.NO_WEIGHTS)
        elif (
            adaptive
            and not course.at_rest
            and (still or (moved > SETTINGS.moving and course.slow(rule.decay)))
        ):
            course.rest(state, converged=still)
        state = new

    if adaptive:
        state, reason = course.chosen(state, run.stop_reason)
        run.stop(reason)
    warn_of_degeneracy(state, sums)
    return Solution(
        components=(state.components * stages.length).astype(blocks.dtype, copy=False),
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=AndState(thresholds=state.thresholds, support=sums.support / sums.rows),
    )


@dataclass
class Course:
    """How the stages of the adaptive schedule went, and which of them was best.

    sizes : Σ|r| of the raw weights r of every stage, over Σ|y|, components at unit absolute sums.
    negative : root of the share of negative weights in Σ r².
    residuals : relative distance of the rows from the span of the components.
    levels : mean logarithm of the thresholds.
    at_rest : number of stages when the thresholds came to rest; 0 before.
    converged : whether the components at rest did not move any more.
    first, resting, best, final : the start; the components at rest; the best ones since; those that
        converged with thresholds at their floor.
    """

    restarts: int = 0
    sizes: list[float] = field(default_factory=list)
    negative: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    levels: list[float] = field(default_factory=list)
    at_rest: int = 0
    converged: bool = False
    first: StageState | None = None
    resting: StageState | None = None
    best: StageState | None = None
    final: StageState | None = None

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> Course:
        """Return the course that a checkpoint kept."""
        names = ("first", "resting", "best", "final")
        states = {name: saved[name] and StageState(**saved[name]) for name in names}
        return cls(**saved | states)

    def judge(self, state: StageState, sums: StageSums) -> None:
        """Measure the raw weights of a stage; remember its components if they are the best."""
        scales = absolute_row_sums(state.components)
        squares, negative = np.diag(sums.raw_gram) @ scales**2, sums.negative[2] @ scales**2
        self.sizes.append(float(sums.absolute @ scales / max(sums.data[0], TINY)))
        self.negative.append(float(np.sqrt(negative / squares)) if squares > 0 else 0.0)
        explained = np.vdot(sums.raw_gram, state.components @ state.components.T)
        unexplained = 1.0 - float(explained) / max(sums.data[1], TINY)
        self.residuals.append(float(np.sqrt(max(unexplained, 0.0))))
        self.levels.append(float(np.log(np.maximum(state.thresholds, TINY)).mean()))
        if self.first is None:
            self.first = state
        since = self.scores[max(self.at_rest - 1, 0) :]
        if self.at_rest and since[-1] <= since.min():
            self.best = state

    @property
    def scores(self) -> Array:
        """Of every stage, lower is better: log(Σ|r| − least) + 0.35 log(share of negatives)."""
        sizes = np.array(self.sizes)
        least = min(1.0, 0.95 * sizes.min()) if sizes.min() < 1 else 1.0
        excess, negative = np.maximum(sizes - least, 1e-13), np.maximum(self.negative, 1e-13)
        return np.asarray(np.log(excess) + SETTINGS.negatives_matter * np.log(negative))

    def slow(self, decay: float) -> bool:
        """Return whether the thresholds fell more slowly than the paper's in the last stages."""
        window = SETTINGS.window
        fall = self.levels[-1 - window] - self.levels[-1] if len(self.levels) > window else np.inf
        return bool(fall < window * np.log(decay))

    def rest(self, state: StageState, *, converged: bool) -> None:
        """Remember the components of the last stage as those at rest."""
        self.resting = self.best = state
        self.at_rest, self.converged = len(self.sizes), converged

    @property
    def rises(self) -> bool:
        """Whether the scores since the rest are worse than the best one, or no better for long."""
        if not self.at_rest:
            return False
        since = self.scores[self.at_rest - 1 :]
        late = len(since) - 1 - int(np.argmin(since)) >= SETTINGS.window
        return late or bool(since[-1] > since.min() + SETTINGS.rises)

    def better(self, stage: int, other: int) -> bool:
        """Return whether a stage is clearly better than another and explains the rows as well."""
        explains = self.residuals[stage] <= 1.02 * self.residuals[other] + 1e-6
        return explains and bool(self.scores[stage] < self.scores[other] - SETTINGS.gain)

    def chosen(self, last: StageState, reason: StopReason) -> tuple[StageState, StopReason]:
        """Return the components to take, and why the run ended with them."""
        state, stage = last, len(self.sizes) - 1
        if self.final is not None:
            state = self.final
        elif self.resting is not None and self.best is not None:
            state, stage = self.resting, self.at_rest - 1
            best = stage + int(np.argmin(self.scores[stage:]))
            if self.better(best, stage):
                state, stage = self.best, best
            elif self.converged:
                reason = StopReason.CONVERGED
        if self.first is not None and self.better(0, stage):
            ended = reason in (StopReason.CONVERGED, StopReason.NO_WEIGHTS)
            state, reason = self.first, StopReason.STALLED if ended else reason
        return state, reason


@dataclass(frozen=True, eq=False)
class StageState:
    """Everything one stage hands to the next."""

    components: Array
    decoder: Array
    independence: float
    thresholds: Array
    watched: NDArray[np.intp]
    movement: Array
    size_when_watched: Array
    stage: int = 0

    def with_components(self, components: Array, **changes: Any) -> StageState:
        """Return the state with other components and their decoder."""
        decoder, independence = decoder_of(components)
        return replace(
            self, components=components, decoder=decoder, independence=independence, **changes
        )


class Stages:
    """The stages of AND on some rows: each is one pass and one update."""

    def __init__(self, blocks: Blocks, rule: StageRule) -> None:
        self.blocks, self.rule = blocks, rule
        self.row_scales, self.length = np.ones(blocks.n_rows), 1.0
        if rule.scale_rows:
            sizes = blocks.map_rows(absolute_row_sums)
            if not sizes.any():
                raise InvalidInput("X is zero everywhere: there is nothing to factorize")
            self.row_scales = inverse_where_positive(sizes)
            self.length = float(np.median(sizes[sizes > 0]))

    def first(self, start: NDArray[np.floating]) -> StageState:
        """Return the state before the first stage."""
        components = np.array(start, dtype=np.float64)
        adaptive = self.rule.schedule == "adaptive"
        if self.rule.project_start and adaptive:
            components = project_to_span(self.blocks, components, self.row_scales)
        if self.rule.scale_rows:
            components *= inverse_where_positive(absolute_row_sums(components))[:, None]
        k = len(components)
        decoder, independence = decoder_of(components)
        threshold = self._first_threshold(decoder) if adaptive else self.rule.threshold(0)
        return StageState(
            components=components,
            decoder=decoder,
            independence=independence,
            thresholds=np.full(k, threshold),
            watched=np.empty(0, dtype=np.intp),
            movement=np.full(k, np.inf),
            size_when_watched=np.full(k, np.inf),
        )

    def _first_threshold(self, decoder: Array) -> float:
        level = decoded_level(self.blocks, decoder, self.row_scales)
        return SETTINGS.first_share * max(level, TINY)

    def sums(self, state: StageState) -> StageSums:
        """Make the one pass of a stage."""
        return stage_sums(
            self.blocks,
            state.decoder,
            state.thresholds,
            self.row_scales,
            watched=state.watched,
            for_update_only=self.rule.schedule != "adaptive",
        )

    def next(self, state: StageState, sums: StageSums, *, lowered: int = 0) -> StageState:
        """Update the components and choose the thresholds of the next stage.

        lowered : divide the thresholds by `decay` instead of adapting them.
        """
        components, stage = updated_components(state.components, sums, self.rule), state.stage + 1
        if self.rule.schedule != "adaptive":
            return self._scheduled(state, components, sums)
        if lowered:
            thresholds = state.thresholds / self.rule.decay
            none = state.watched[:0]
            return state.with_components(
                components, thresholds=thresholds, watched=none, stage=stage
            )
        components = refit_facets(components, state.decoder, sums, state.watched)
        sizes = absolute_row_sums(components)
        components *= (absolute_row_sums(state.components) * inverse_where_positive(sizes))[:, None]
        new = state.with_components(components, stage=stage)
        movement = decoded_movement(state.components @ new.decoder, sums)
        watched = state.watched[:0]
        size_when_watched = state.size_when_watched.copy()
        if stage >= SETTINGS.first_watched:
            watched = components_to_watch(state, movement, sums)
            size_when_watched[watched] = sums.negative_size[watched]
        return replace(
            new,
            thresholds=next_thresholds(state.thresholds, movement, sums),
            watched=watched,
            movement=movement,
            size_when_watched=size_when_watched,
        )

    def by_batches(
        self, state: StageState, rng: np.random.Generator
    ) -> tuple[StageState, StageSums]:
        """Make the gradient steps of a stage with fresh rows each; return all their sums too."""
        rule, n = self.rule, self.blocks.n_rows
        components, total = state.components, None
        for _ in range(rule.n_steps or 50):
            rows = np.sort(rng.choice(n, min(rule.batch_size or n, n), replace=False))
            sums = stage_sums(
                as_blocks(self.blocks.take(rows)),
                state.decoder,
                state.thresholds,
                self.row_scales[rows],
                watched=state.watched,
                for_update_only=True,
            )
            components = updated_components(components, sums, replace(rule, n_steps=1))
            total = sums if total is None else total.faded_into(sums, 1.0)
        assert total is not None
        return self._scheduled(state, components, total), total

    def _scheduled(self, state: StageState, components: Array, sums: StageSums) -> StageState:
        """Return the next state with the threshold of the paper's schedule or of Theorem 4."""
        stage = state.stage + 1
        new = state.with_components(components, stage=stage)
        threshold = self.rule.threshold(stage)
        if self.rule.schedule == "theorem-4":
            error = estimated_error(state.components, new.decoder)
            threshold = theorem_4_threshold(error, sums, self.rule.order)
            threshold = min(threshold, float(state.thresholds[0]))
        return replace(new, thresholds=np.full(len(components), threshold))

    def restarted(self, state: StageState, component: int) -> StageState:
        """Return the state with one component taken from the data again."""
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


def next_thresholds(thresholds: Array, movement: Array, sums: StageSums) -> Array:
    """Apply the adaptive rule described at the top of this file."""
    wanted = np.maximum(SETTINGS.moves * movement, SETTINGS.negatives * sums.negative_size)
    return np.clip(wanted, thresholds / SETTINGS.fastest, thresholds)


def theorem_4_threshold(error: float, sums: StageSums, order: float) -> float:
    """Return α = (λ‖E₀‖/r)^(2/(q+1)) of Li17's Theorem 4 from the decoded weights of a stage.

    λ = 2 λ_min(Δ)/max Δ_ii with Δ = E[zzᵀ] (Definition 1), r is the mean number of weights of a
    row, which bounds the mean of ‖x‖₁, and ‖E₀‖ is estimated from the last stage.
    """
    moments = sums.gram / max(float(sums.rows), 1.0)
    largest = float(np.diag(moments).max())
    if largest <= 0:
        return 0.0
    lam = 2 * max(float(np.linalg.eigvalsh(moments)[0]), 0.0) / largest
    r = max(float(sums.support.sum() / sums.rows), 1.0)
    return float((lam * error / r) ** (2 / (order + 1)))


def decoded_movement(change: Array, sums: StageSums) -> Array:
    """Return the root mean square move of each weight when raw weights r become r @ change."""
    step = change - np.eye(len(change))
    squared = np.einsum("li,lm,mi->i", step, sums.raw_gram, step)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0) / sums.rows))


def components_to_watch(state: StageState, movement: Array, sums: StageSums) -> NDArray[np.intp]:
    """Choose components whose decoders the next stage refits (see `repairs.refit_facets`).

    Either few rows decode to far more negative weights than the others, which noise does not do,
    or the component contracts slowly. If watching did not make its negative weights smaller, the
    reason is noise or a model that does not fit, and it is left alone. A pass takes 4ndk
    operations, watching a component up to nk²; if there are more than that allows, uneven ones go
    first, and those that move more.
    """
    count, total, _ = sums.negative
    size, mean = sums.negative_size, total / np.maximum(count, 1.0)
    share = np.sqrt(count / sums.rows)
    uneven = (size > SETTINGS.heavy_tail * mean) & (size * share > 0.1 * movement)
    slow = movement > SETTINGS.slow * state.movement
    gains = size < SETTINGS.falling * state.size_when_watched
    useful = np.flatnonzero((uneven | slow) & gains)
    order = np.lexsort((-movement[useful], ~uneven[useful]))
    k, d = state.components.shape
    return np.sort(useful[order[: max((k + 1) // 2, 4 * d // k)]])


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


def warn_of_degeneracy(state: StageState, sums: StageSums) -> None:
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


class Stream:
    """AND on a stream of rows: one stage per batch, on sums that fade.

    Sums over older batches steady the result against noise, but they were decoded with older and
    worse components. So each batch halves them, and on top of it they fade by the factor by which
    the components' movement shrank: fast while the components converge, slowly once noise is all
    that moves them.
    """

    def __init__(self, blocks: Blocks, start: NDArray[np.floating], rule: StageRule) -> None:
        stages = Stages(blocks, rule)
        self._state, self._length = stages.first(start), stages.length
        self._rule = rule
        self._sums: StageSums | None = None
        self._movements = (np.inf, np.inf)
        self._rows: list[dict[str, float]] = []

    def feed(self, blocks: Blocks) -> None:
        """Do one stage with one batch."""
        stages, state = Stages(blocks, self._rule), self._state
        if state.independence < DEPENDENT:
            state = stages.restarted(state, most_dependent(state.components, state.decoder))
            self._sums = None
        sums = stages.sums(state)
        if self._sums is not None:
            before, last = self._movements
            shrunk = min(1.0, last / before) if np.isfinite(before) and before > 0 else 0.0
            sums = self._sums.faded_into(sums, 0.5 * shrunk)
        self._sums = sums
        self._state = stages.next(state, sums)
        moved = relative_movement(state.components, self._state.components)
        self._movements = (self._movements[1], moved)
        alpha, support = np.median(state.thresholds), sums.support.sum() / sums.rows
        self._rows.append({"alpha": float(alpha), "support": float(support), "movement": moved})

    @property
    def components(self) -> Array:
        """The components so far, at the scale of the first batch."""
        return self._state.components * self._length

    @property
    def trace(self) -> Trace:
        """One row per batch."""
        return Trace.from_rows(self._rows)
