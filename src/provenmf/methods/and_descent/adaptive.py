"""The adaptive schedule of AND: how thresholds follow the run, and how failed stages are repaired.

Ours, not from the paper. Theorem 4 of Li17 ties the threshold of a stage to the error at its
beginning. The error is not known, but two traces of it are:

* how far the decoded weights moved in the last stage (their root mean square, per component). The
  move is the error that was just removed, so what is left is of that order or smaller;
* negative decoded weights. True weights are nonnegative, so whatever is negative is error, be it
  of the features or from noise in the data, and positive errors are as large.

The next threshold of a component is a multiple of the larger of the two, never more than the last
one (a threshold that rises loses support it had earned) and never less than a tenth of it. It thus
falls tenfold a stage while things go well, waits while they do not, and stays above the noise.

It may wait too long: dense weights have many entries below any threshold that their errors suggest.
So once the components rest, or the thresholds fall more slowly than the paper's, the paper's
schedule runs from the same start, and the better components are returned (`Contest`). The judge
needs no truth. With rows and components at unit absolute sums, true weights are nonnegative, and
the sum of a row's |weights| is as small as the data allow: errors of the features and noise that is
taken for signal add weights of either sign. Negative weights count beyond what the noise explains,
which shows in the part of the rows outside the span of the components; and the rows that
nonnegative weights leave unexplained count.

Repairs of components that AND's update cannot or can hardly correct:

* `refit_facets`: a component that contains a little of another one;
* `restart`: a component that is dependent on the others, or that no row uses;
* `project_to_span`: a start with a part outside the span of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.linalg.norms import absolute_row_sums, first_largest, inverse_where_positive
from provenmf.methods.and_descent.kernels import (
    DEPENDENT,
    Array,
    StageState,
    StageSums,
    decoder_of,
    leading_span,
    squared_residuals,
)
from provenmf.methods.separable.anchors import dense_row
from provenmf.results import StopReason

TINY = float(np.finfo(np.float64).tiny)
TIE = 1e-9  # scores that differ by less than this share of the largest are equal


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
    window: int = 20  # stages over which falls of thresholds and scores are compared
    moving: float = 1e-5  # components that move less will soon be still
    # The contest; chosen on dense, binary and noisy weights (k = 40, n = 2000).
    negatives_count: float = 10.0  # a negative weight against a weight too many; 3 is too little
    exact: float = 1e-6  # score of components that need no contest
    misfit_counts: float = 4.0  # the unexplained part against a weight too many; 10 fits noise
    as_well: float = 1.04  # unexplained share of rows explained as well; less is not noise alone
    gain: float = 0.8  # score of the winner over that of the components at rest; noise gives 0.9


SETTINGS = Settings()


def next_thresholds(thresholds: Array, movement: Array, sums: StageSums) -> Array:
    """Apply the rule described at the top of this file."""
    wanted = np.maximum(SETTINGS.moves * movement, SETTINGS.negatives * sums.negative_size)
    return np.clip(wanted, thresholds / SETTINGS.fastest, thresholds)


def decoded_movement(change: Array, sums: StageSums) -> Array:
    """Return the root mean square move of each weight when raw weights r become r @ change."""
    step = change - np.eye(len(change))
    squared = np.einsum("li,lm,mi->i", step, sums.raw_gram, step, optimize=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0) / sums.rows))


def components_to_watch(state: StageState, movement: Array, sums: StageSums) -> NDArray[np.intp]:
    """Choose components whose decoders the next stage refits (see `refit_facets`).

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


def refit_facets(
    components: Array, decoder: Array, sums: StageSums, watched: NDArray[np.intp]
) -> Array:
    """Return the components after refitting the decoders of the watched ones.

    Where AND stalls, one component contains a little of another, a_j = a*_j + e a*_i, and few rows
    show it: only in them the decoded weight of i is negative (e > 0), or a spurious weight of i
    exceeds the threshold in all rows of j and so confirms itself (e < 0). The least-squares update
    corrects e by the share of such rows in a stage, however small.

    But all rows with weight zero for component i lie in a hyperplane whose normal is the decoder of
    i, and there are many of them. We take the rows whose decoded weight is below the threshold, fit
    r_i ≈ Σ_l e_l r_l to them, and subtract the fit. This needs only sums over rows, hence no extra
    pass. In the row space of the components the new decoder is pinv(components) @ exchange, so the
    new components are exchange⁻¹ @ components. `decoder` is the one the sums were taken with.
    """
    exchange = np.eye(len(components))
    for position, component in enumerate(watched):
        column = refitted_decoder_column(
            component,
            sums.facet_grams[position],
            sums.below[:, component],
            np.diag(sums.raw_gram),
        )
        seen = components @ (decoder @ column)
        if seen[component] > 0:
            exchange[:, component] = seen / seen[component]
    singular = np.linalg.svd(exchange, compute_uv=False)
    if singular[-1] < 1e-6 * singular[0]:  # nearly singular: the refits contradict each other
        return components
    return np.linalg.solve(exchange, components).astype(np.float64, copy=False)


def refitted_decoder_column(
    component: int, facet_gram: Array, below: Array, squares: Array
) -> Array:
    """Return f such that Σ_l f_l r_l is the decoded weight of `component` after the refit.

    Minimizes Σ (r_i − Σ_{l≠i} e_l r_l)² over the rows below the threshold; f = unit vector − e.
    `squares` are the sums of r_l² over all rows: what is left of them below the threshold may be
    rounding only, and scaling that to one would let rounding decide.
    """
    others = np.delete(np.arange(len(facet_gram)), component)
    gram, target = facet_gram[np.ix_(others, others)], below[others]
    present = np.where(np.diag(gram) > 1e-12 * squares[others], np.diag(gram), 0.0)
    inverse = inverse_where_positive(np.sqrt(present))
    scaled = gram * np.multiply.outer(inverse, inverse)
    fit = inverse * np.linalg.lstsq(scaled, inverse * target, rcond=1e-12)[0]
    return np.insert(-fit, component, 1.0)


def most_dependent(components: Array, decoder: Array) -> int:
    """Return the component that the others explain best.

    Its length times the length of its decoder is largest; of those that are equal but for
    rounding, as two that explain each other are, the first.
    """
    lengths = np.linalg.norm(components, axis=1)
    if not lengths.all():
        return int(np.argmin(lengths))
    products = lengths * np.linalg.norm(decoder, axis=0)
    return first_largest(products, TIE * float(products.max()))


def restart(blocks: Blocks, components: Array, row_scales: Array, component: int) -> Array:
    """Replace one component by the row that the others explain worst; one pass.

    The row's part outside the span of the others is what is missing; the row itself is used, as at
    the start.
    """
    others = np.delete(components, component, axis=0)
    squares = squared_residuals(blocks, others, row_scales)
    row = first_largest(squares, TIE * float(squares.max()))
    fresh = components.copy()
    candidate = dense_row(blocks, row) * row_scales[row]
    size = np.abs(candidate).sum()
    usual_size = np.abs(others).sum(axis=1).mean() if len(others) else 1.0
    if size > 0:
        fresh[component] = candidate * (usual_size / size)
    return fresh


def project_to_span(blocks: Blocks, start: Array, row_scales: Array) -> Array:
    """Project the start (k, d) onto the k leading right singular vectors of the scaled rows.

    Rows are mixtures of the k true components plus noise, so these vectors span nearly the same
    space. What a start has outside of it is error: Li17, Definition 2, calls it N and asks that it
    be small. If the projection makes the rows dependent, as on data of lower rank, the start is
    returned unchanged.
    """
    span = leading_span(blocks, len(start), row_scales)
    projected = start @ span.T @ span
    lengths = np.linalg.norm(projected, axis=1)
    if not lengths.all() or decoder_of(projected / lengths[:, None])[1] < DEPENDENT:
        return start
    return projected


@dataclass(frozen=True, eq=False)
class Candidate:
    """Components that a run may return, and the raw weights r of all rows under them.

    Rows and components are at unit absolute sums.

    size : mean of Σ|r|, one for nonnegative mixtures.
    negative : share of the negative weights in Σ r².
    residual : share of the rows' squared lengths outside the span of the components.
    fit : the same share left by the weights max(r, 0).
    noise : by which `residual` is to be multiplied to give the share of negative weights that the
        same noise causes inside the span where true weights are zero.
    """

    state: StageState
    support: Array
    size: float
    negative: float
    residual: float
    fit: float
    noise: float

    @classmethod
    def of(cls, state: StageState, sums: StageSums) -> Candidate:
        """Measure the components of a stage by its sums."""
        k, d = state.components.shape
        scales = absolute_row_sums(state.components)
        squares = max(float(np.diag(sums.raw_gram) @ scales**2), TINY)
        energy = max(float(sums.data[1]), TINY)
        products = state.components @ state.components.T
        residual = max(1.0 - float(np.vdot(sums.raw_gram, products)) / energy, 0.0)
        clipped = max(float(np.vdot(sums.negative_gram, products)), 0.0) / energy
        gain = float((state.decoder**2).sum(axis=0) @ scales**2)
        return cls(
            state=state,
            support=sums.support / sums.rows,
            size=float(sums.absolute @ scales / max(sums.data[0], TINY)),
            negative=float(sums.negative[2] @ scales**2 / squares),
            residual=residual,
            fit=residual + clipped,
            noise=0.5 * gain * energy / (max(d - k, 1) * squares),
        )

    def score(self, residual: float, least: float) -> float:
        """Score large weights, negative weights and unexplained rows; lower is better."""
        excess = math.sqrt(max(self.negative - self.noise * residual, 0.0))
        unexplained = math.sqrt(self.fit) - math.sqrt(residual)
        return (
            self.size
            - least
            + SETTINGS.negatives_count * excess
            + SETTINGS.misfit_counts * unexplained
        )

    def beats(self, other: Candidate, ratio: float) -> bool:
        """Return whether the score is below that share of the other's."""
        residual = min(self.residual, other.residual)
        least = min(1.0, 0.95 * min(self.size, other.size))
        return self.score(residual, least) < ratio * other.score(residual, least)

    def explains_as_well(self, other: Candidate) -> bool:
        """Return whether the rows are left unexplained no more than by the other."""
        return self.fit <= SETTINGS.as_well * other.fit + 1e-12

    def replaces(self, other: Candidate) -> bool:
        """Return whether the score is clearly better and the rows are explained as well."""
        return self.explains_as_well(other) and self.beats(other, SETTINGS.gain)


@dataclass
class Contest:
    """The start, the components at rest and the best ones of the paper's schedule.

    levels : mean logarithm of the thresholds of each adaptive stage.
    at_rest : the last components of the adaptive schedule; None while it runs.
    converged : whether they did not move any more.
    waited : stages of the paper's schedule since its best one.
    """

    restarts: int = 0
    levels: list[float] = field(default_factory=list)
    first: Candidate | None = None
    last: Candidate | None = None
    at_rest: Candidate | None = None
    best: Candidate | None = None
    converged: bool = False
    waited: int = 0

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> Contest:
        """Return the contest that a checkpoint kept."""
        names = ("first", "last", "at_rest", "best")
        kept = {name: saved[name] for name in names if saved[name] is not None}
        states = {
            name: Candidate(**fields | {"state": StageState(**fields["state"])})
            for name, fields in kept.items()
        }
        return cls(**saved | states)

    def judge(self, state: StageState, sums: StageSums) -> None:
        """Measure the components of a stage."""
        self.last = Candidate.of(state, sums)
        self.first = self.first or self.last
        if self.at_rest is None:
            self.levels.append(float(np.log(np.maximum(state.thresholds, TINY)).mean()))
        elif self.best is None or self._improves(self.last, self.best):
            self.best, self.waited = self.last, 0
        else:
            self.waited += 1

    @staticmethod
    def _improves(last: Candidate, best: Candidate) -> bool:
        """Return whether a stage explains more, or as much with a better score.

        On rows that follow no model the score is lowest after a few stages, while the rows are
        explained better and better.
        """
        if not best.explains_as_well(last):
            return True
        return last.explains_as_well(best) and last.beats(best, 0.999)

    def slow(self, decay: float) -> bool:
        """Return whether the thresholds fell more slowly than the paper's in the last stages."""
        window = SETTINGS.window
        fall = self.levels[-1 - window] - self.levels[-1] if len(self.levels) > window else np.inf
        return bool(fall < window * np.log(decay))

    def rest(self, *, converged: bool) -> StageState:
        """End the adaptive schedule with the components last judged; return the start."""
        assert self.first is not None
        self.at_rest, self.converged = self.last, converged
        return self.first.state

    @property
    def exact(self) -> bool:
        """Whether the components last judged leave nothing to improve."""
        last = self.last
        return last is not None and last.score(last.residual, min(1.0, last.size)) < SETTINGS.exact

    @property
    def over(self) -> bool:
        """Whether the paper's schedule improved on its start and then stopped improving."""
        if self.best is None or self.first is None or self.waited < SETTINGS.window:
            return False
        return self.best.beats(self.first, 0.9)

    def winner(self, last: Candidate, reason: StopReason) -> tuple[Candidate, StopReason]:
        """Return the best candidate, with `last` the final one, and why the run ended with it."""
        chosen, why = last, reason
        if self.at_rest is not None:
            chosen = self.at_rest
            why = StopReason.CONVERGED if self.converged else StopReason.STALLED
        if self.best is not None and self.best.replaces(chosen):
            chosen, why = self.best, reason
        if self.first is not None and self.first.replaces(chosen):
            chosen, why = self.first, StopReason.STALLED
        cut_short = reason in (StopReason.CALLBACK, StopReason.INTERRUPTED)
        return chosen, reason if cut_short else why
