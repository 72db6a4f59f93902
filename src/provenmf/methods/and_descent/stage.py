"""One stage of AND: its rule, what it hands to the next one, and the update between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import absolute_row_sums, largest_row_sum
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.methods.and_descent.decoding import decoder_of
from provenmf.methods.and_descent.facets import with_refitted_facets
from provenmf.methods.and_descent.restart import restart
from provenmf.methods.and_descent.schedule import (
    components_to_watch,
    decoded_movement,
    negative_size,
    next_thresholds,
    paper_threshold,
)
from provenmf.methods.and_descent.span import within_span
from provenmf.methods.and_descent.sums import StageSums, decoded_level, stage_sums

# Gradient steps on a least-squares problem without taking them one by one.
#
# For fixed weights Z and data Y the loss ½‖Y − ZC‖²_F has the gradient G C − B with G = ZᵀZ (k, k)
# and B = ZᵀY (k, d). A step C ← C + η (B − G C) only needs these two, and in the eigenvectors of G
# every coordinate moves on its own, so that T steps have a closed form.

Array = NDArray[np.float64]

# Directions in which a Gram matrix of unit diagonal is smaller than this carry no information.
NULL_DIRECTION = 1e-13


def after_gradient_steps(
    start: Array, cross: Array, gram: Array, *, step_size: float, steps: int
) -> Array:
    """The iterate after exactly `steps` steps C ← C + η (B − G C) from `start`.

    With G = V diag(w) Vᵀ, a coordinate c of VᵀC ends at (1 − ηw)^T c + (1 − (1 − ηw)^T)/w b.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = (1.0 - step_size * values) ** steps
    taken = _geometric_sum(step_size * values, steps) * step_size
    moved = kept[:, None] * (vectors.T @ start) + taken[:, None] * (vectors.T @ cross)
    return vectors @ moved


def after_all_gradient_steps(start: Array, cross: Array, gram: Array) -> Array:
    """The limit of the steps: the least-squares solution that is nearest to `start`.

    Components without any weight keep their value; so do directions in which G vanishes, measured
    after G is scaled to unit diagonal.
    """
    inverse = inverse_where_positive(np.sqrt(np.diag(gram)))
    values, vectors = np.linalg.eigh(gram * np.multiply.outer(inverse, inverse))
    known = values > NULL_DIRECTION * values[-1] if values[-1] > 0 else values > 0
    basis = vectors[:, known]
    residual = inverse[:, None] * (cross - gram @ start)
    return np.asarray(
        start + inverse[:, None] * (basis @ ((basis.T @ residual) / values[known, None]))
    )


def _geometric_sum(x: Array, terms: int) -> Array:
    """Σ_{t<T} (1 − x)^t = (1 − (1 − x)^T)/x, accurate for tiny x too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        small = -np.expm1(terms * np.log1p(-x)) / x
        large = (1.0 - (1.0 - x) ** terms) / x
    total = np.where(x < 0.5, small, large)
    return np.where(np.abs(x) < 1e-300, float(terms), total)


Schedule = Literal["adaptive", "paper"]
Steps = Literal["exact", "paper"]

FIRST_SHARE = 0.5  # first adaptive threshold over the size of a large weight
FIRST_WATCHED_STAGE = 3  # before that, the errors are too large to tell noise from wrong turns
DIVERGED = 1e100  # entries that no data have: larger ones are refused
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class StageRule:
    """How a stage works.

    schedule : "paper" uses the threshold alpha/decay^j in stage j = 1, 2, …; "adaptive" chooses
        thresholds from the course of the run.
    steps : "paper" takes `inner_steps` gradient steps of `step_size` (None: 0.5/k as the authors,
        or 1/‖ZᵀZ‖₂ where that diverges); "exact" goes to their limit.
    scale_rows : divide rows and components by the sums of their absolute entries, and return
        components with the median sum of the rows. Otherwise data and start are used as they are.
    project_start : bring the start into the span of the data first (see `span.py`); only with the
        adaptive schedule.
    """

    schedule: Schedule = "adaptive"
    alpha: float = 0.1
    decay: float = 1.1
    steps: Steps = "exact"
    inner_steps: int = 50
    step_size: float | None = None
    scale_rows: bool = True
    project_start: bool = False


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


def row_scales_and_length(blocks: Blocks, rule: StageRule) -> tuple[Array, float]:
    """Factors of the rows before everything else, and of the components in the end."""
    if not rule.scale_rows:
        return np.ones(blocks.n_rows), 1.0
    sizes = blocks.map_rows(absolute_row_sums)
    if not sizes.any():
        raise InvalidInput("X is zero everywhere: there is nothing to factorize")
    return inverse_where_positive(sizes), float(np.median(sizes[sizes > 0]))


def first_state(
    blocks: Blocks, start: NDArray[np.floating], row_scales: Array, rule: StageRule
) -> StageState:
    """The state before the first stage. The adaptive schedule looks at the data once for it."""
    components = np.array(start, dtype=np.float64)
    if rule.project_start and rule.schedule == "adaptive":
        components = within_span(blocks, components, row_scales)
    if rule.scale_rows:
        components *= inverse_where_positive(absolute_row_sums(components))[:, None]
    k = len(components)
    decoder, independence = decoder_of(components)
    threshold = paper_threshold(rule.alpha, rule.decay, 0)
    if rule.schedule == "adaptive":
        threshold = FIRST_SHARE * max(decoded_level(blocks, decoder, row_scales), TINY)
    return StageState(
        components=components,
        decoder=decoder,
        independence=independence,
        thresholds=np.full(k, threshold),
        watched=np.empty(0, dtype=np.intp),
        movement=np.full(k, np.inf),
        size_when_watched=np.full(k, np.inf),
    )


def pass_over(blocks: Blocks, state: StageState, row_scales: Array, rule: StageRule) -> StageSums:
    """The one pass of a stage."""
    return stage_sums(
        blocks,
        state.decoder,
        state.thresholds,
        row_scales,
        watched=state.watched,
        for_update_only=rule.schedule == "paper",
    )


def next_state(state: StageState, sums: StageSums, rule: StageRule) -> StageState:
    """One stage: the inner update, and what the next stage starts from."""
    components = updated_components(state.components, sums, rule)
    stage = state.stage + 1
    if rule.schedule == "paper":
        decoder, independence = decoder_of(components)
        thresholds = np.full(len(components), paper_threshold(rule.alpha, rule.decay, stage))
        return replace(
            state,
            components=components,
            decoder=decoder,
            independence=independence,
            thresholds=thresholds,
            stage=stage,
        )
    components = with_refitted_facets(components, state.decoder, sums, state.watched)
    components *= (
        absolute_row_sums(state.components) * inverse_where_positive(absolute_row_sums(components))
    )[:, None]
    decoder, independence = decoder_of(components)
    movement = decoded_movement(state.components @ decoder, sums)
    thresholds = next_thresholds(state.thresholds, movement, sums)
    size = negative_size(sums)
    size_when_watched = state.size_when_watched.copy()
    watched = np.empty(0, dtype=np.intp)
    if stage >= FIRST_WATCHED_STAGE:
        watched = components_to_watch(
            movement, state.movement, size, size_when_watched, sums, most=affordable(components)
        )
        size_when_watched[watched] = size[watched]
    return StageState(
        components=components,
        decoder=decoder,
        independence=independence,
        thresholds=thresholds,
        watched=watched,
        movement=movement,
        size_when_watched=size_when_watched,
        stage=stage,
    )


def affordable(components: Array) -> int:
    """How many components may be watched in one stage: half of them, more if that is cheap.

    A pass takes 4ndk operations, watching a component up to nk², less where it is rarely used.
    """
    k, d = components.shape
    return int(max((k + 1) // 2, 4 * d // k))


def updated_components(components: Array, sums: StageSums, rule: StageRule) -> Array:
    """The inner loop of Li17's Algorithm 1, lines 3 to 7, over the whole data."""
    if rule.steps == "exact":
        return after_all_gradient_steps(components, sums.cross, sums.gram)
    step_size = rule.step_size
    if step_size is None:
        step_size = 0.5 / len(components)
        if step_size * largest_row_sum(sums.gram) >= 2.0:  # a bound on the largest eigenvalue
            largest = float(np.linalg.eigvalsh(sums.gram)[-1])
            step_size = 1.0 / largest if step_size * largest >= 2.0 else step_size
    with np.errstate(over="ignore", invalid="ignore"):
        moved = after_gradient_steps(
            components, sums.cross, sums.gram, step_size=step_size, steps=rule.inner_steps
        )
    if not np.abs(moved).max() < DIVERGED:
        raise InvalidInput(
            "makes the gradient steps diverge",
            argument="step_size",
            value=step_size,
            remedy=f"give one below {2.0 / largest_row_sum(sums.gram):.3g}, or None",
        )
    return moved


def restarted(blocks: Blocks, state: StageState, row_scales: Array, component: int) -> StageState:
    """The state with one component taken from the data again."""
    components = restart(blocks, state.components, row_scales, component)
    decoder, independence = decoder_of(components)
    thresholds = state.thresholds.copy()
    thresholds[component] = FIRST_SHARE * max(decoded_level(blocks, decoder, row_scales), TINY)
    return replace(
        state,
        components=components,
        decoder=decoder,
        independence=independence,
        thresholds=thresholds,
        watched=state.watched[:0],
    )


def relative_movement(old: Array, new: Array) -> float:
    """Largest move of a component, relative to its new length."""
    moves = np.linalg.norm(new - old, axis=1)
    return float(np.max(moves * inverse_where_positive(np.linalg.norm(new, axis=1))))
