"""MERIT (Nguyen, Fu & Wu 2021, Nguyen22): anchors from every row as a mixture of rows.

    Nguyen22                         here
    X (M x N), points in columns     X (n x d), points in rows
    K, N                             n_components, n
    C (N x N), columns c_l           C (n x n), row l mixes data rows into row l
    C(n, :), a row                   column n of C: which rows use row n, and how much
    W = X(:, K)                      components = X[anchors]
    H                                weights, found by the estimator
    lambda, mu, alpha                lam, mu, alpha

Objective, Eq. (18), with its scaling:  1/2 ||X - C X||_F^2 + lam * sum_n phi_mu(C[:, n]), rows of C
on the simplex, phi_mu the log-mean-exp smoothing of the largest entry. Anchors are the rows n with
the largest max_l C[l, n].

`step="open-loop"` is Algorithm 1. `step="pairwise"`, the default, differs in three ways, each with
its reason in benchmarks/EXPERIMENTS.md: lam follows the noise of one row and not of the whole
matrix; single rows make pairwise steps with an exact line search, after open-loop steps if the rows
are few, else from the mixtures of greedy anchors; then the vertices are a few extreme rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import block_bytes
from provenmf.data import Blocks, as_blocks
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.methods.merit import settings
from provenmf.methods.merit.mixture import Bids, MixedRows, Mixture, Penalties
from provenmf.methods.merit.number import find_number
from provenmf.methods.merit.start import (
    Start,
    candidate_rows,
    missed,
    overlooked_rows,
    penalty_weight,
    representatives,
    sample_of,
    start_from_anchors,
)
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable.anchors import dense_rows
from provenmf.results import Solution, StopReason
from provenmf.results.states import MeritState
from provenmf.signals import interrupted

Indices = NDArray[np.intp]
Step = Literal["pairwise", "open-loop"]
Lam = float | Literal["auto", "paper", "authors"]

DEFAULT_ITERATIONS = {"open-loop": 100, "pairwise": 1000}


def merit(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    step: Step = "pairwise",
    lam: Lam = "auto",
    mu: float = 1e-5,
    init: Literal["spa"] | None = None,
    max_iter: int | None = None,
    tol: float = 1e-3,
    rng: np.random.Generator,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find anchors by self-dictionary convex optimization; see `provenmf.MERIT`.

    Returns
    -------
    Solution whose trace has per iteration the `objective` and the duality `gap` over the dictionary
    (each before the step), `used`, the vertices in use, whether the steps are `pairwise`, and
    `step`, the number of open-loop steps with those that a warm start saves.
    Its MeritState says what was solved and how far from the optimum it is.
    """
    limits = settings.SETTINGS
    if step == "open-loop" or blocks.n_rows <= limits.few_rows:
        blocks = as_blocks(blocks.everything())  # all rows are vertices, which are here anyway
    row_bytes = 12 * blocks.stored_entries // blocks.n_rows + limits.row_bytes
    blocks = blocks.in_blocks_of(block_bytes(limits.block_bytes) // row_bytes)
    evidence = ""
    if n_components is None and isinstance(lam, str):
        n_components, evidence = find_number(blocks, maxima_at(blocks, mu, tol, rng))
    plain = lam in ("paper", "authors") or init == "spa"
    start = start_from_anchors(blocks, n_components, plain=plain)
    problem = pose(n_components, start, step, lam, mu, tol)
    run = Run(
        max_iter or DEFAULT_ITERATIONS[step], callback=callback, verbose=verbose, name="MERIT"
    )
    found = solution(problem, minimized(problem, run, rng, warm=init == "spa"), run)
    notes = [f"Number of anchors: {evidence}"] if evidence else []
    if lam == "auto" and init is None and not problem.open_loop and not interrupted():
        found, note = best_of_greedy(found, start)
        notes += note
    return replace(found, notes=tuple(notes))


def maxima_at(
    blocks: Blocks, mu: float, tol: float, rng: np.random.Generator
) -> Callable[[float], tuple[Indices, NDArray[np.float64]]]:
    """Return the function that solves with a penalty, for the number of anchors."""
    start = start_from_anchors(blocks, None)

    def solve(lam: float) -> tuple[Indices, NDArray[np.float64]]:
        problem = pose(None, start, "pairwise", lam, mu, tol)
        run = Run(DEFAULT_ITERATIONS["pairwise"], name="MERIT for the number of anchors")
        mixture = minimized(problem, run, rng)
        return mixture.dictionary, mixture.penalties(lam, mu).top

    return solve


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem to solve.

    lam, mu : of the objective. tol : see `provenmf.MERIT`. radius : rows this near count as one.
    open_loop : whether Algorithm 1 makes all steps. all_rows : whether all rows may be vertices.
    """

    n_components: int | None
    start: Start
    lam: float
    mu: float
    tol: float
    radius: float
    open_loop: bool
    all_rows: bool


def pose(
    n_components: int | None, start: Start, step: Step, lam: Lam, mu: float, tol: float
) -> Problem:
    """Return the problem with the penalty and the radius that follow from the start.

    Algorithm 1 as printed counts only equal rows as one.

    Without a penalty the optimum is C = I whatever the data; what tells anchors apart is then the
    path of Frank-Wolfe (Nguyen22, Theorems 1 and 2), so that MERIT(0) has no pairwise steps.
    """
    weight = penalty_weight(lam, start)
    open_loop = step == "open-loop"
    return Problem(
        n_components,
        start,
        weight,
        mu,
        tol,
        radius=0.0 if open_loop else start.duplicate_radius,
        open_loop=open_loop or weight == 0,
        all_rows=open_loop or start.blocks.n_rows <= settings.SETTINGS.few_rows,
    )


def vertices(problem: Problem, rng: np.random.Generator) -> Indices:
    """Return the rows that may be vertices, none of them twice."""
    start = problem.start
    rows = np.arange(start.blocks.n_rows)
    if not problem.all_rows:
        size = max(settings.SETTINGS.dictionary, 4 * len(start.anchors))
        rows = candidate_rows(start, size, rng)
    rows = representatives(start.blocks.take(rows), rows, problem.radius)
    if problem.n_components is not None and problem.n_components > len(rows):
        raise InvalidInput(
            f"exceeds the {len(rows)} distinct rows of X (farther than {problem.radius:.3g} apart)",
            argument="n_components",
            value=problem.n_components,
            remedy=f"ask for at most {len(rows)} components",
        )
    return rows


def minimized(
    problem: Problem, run: Run, rng: np.random.Generator, *, warm: bool = False
) -> Mixture:
    """Return C after the steps of a run, which may go on from a checkpoint.

    It begins at C = 0, or at the mixtures of the start's anchors (Nguyen22, V-B).
    """
    mixture = Mixture(problem.start.blocks, vertices(problem, rng))
    most, first = settings.SETTINGS.open_loop_steps if problem.all_rows else 0, 0
    if warm or not (problem.open_loop or problem.all_rows):
        first = mix_anchors(mixture, problem.start)
    steps = Steps(None if problem.open_loop else most, first)
    if run.saved is not None:
        mixture.restore(run.saved["mixture"])
        vars(steps).update(run.saved["steps"])
    run.keeps(lambda: {"mixture": mixture.saved(), "steps": vars(steps)})
    for _ in run:
        iterate(problem, mixture, steps, run)
    return mixture


class Steps:
    """Decide which kind of step comes next: open-loop ones first, then pairwise ones.

    After `most_open_loop` steps the pairwise ones begin at the latest; None is never. `first_step`
    is what a warm start saves.
    """

    def __init__(self, most_open_loop: int | None, first_step: int = 0) -> None:
        self.t = first_step - 1
        self.pairwise = False
        self._most, self._first = most_open_loop, first_step
        self._leaders: frozenset[int] = frozenset()
        self._unchanged_since = 0
        self._objective = np.inf

    def next_is_open_loop(self, maxima: NDArray[np.float64], n_components: int | None) -> bool:
        """Count one open-loop step, or find that it is time for pairwise ones."""
        if self.pairwise:
            return False
        self.t += 1
        made = self.t - self._first
        leaders = frozenset(np.argsort(-maxima, kind="stable")[: n_components or 1].tolist())
        if leaders != self._leaders:
            self._leaders, self._unchanged_since = leaders, made
        settled = made >= settings.SETTINGS.settled_steps and made >= 2 * self._unchanged_since
        self.pairwise = self._most is not None and (settled or made >= self._most)
        return not self.pairwise

    def no_longer_lower(self, objective: float, tol: float) -> bool:
        """Return whether the last sweep lowered the objective by less than a fraction tol."""
        done = self._objective - objective <= tol * objective
        self._objective = np.inf if done else objective
        return done


def mix_anchors(mixture: Mixture, start: Start) -> int:
    """Set C to the mixtures of the start's anchors; return the step to go on from."""
    kept = start.anchors[np.isin(start.anchors, mixture.dictionary)]
    if not len(kept):  # other rows stand for them: C stays zero
        return 0
    found = start if len(kept) == len(start.anchors) else start.by(kept)
    mixture.start_from(np.searchsorted(mixture.dictionary, kept), found.mixtures)
    rmse = float(np.sqrt(mixture.squared_residuals().mean()))
    return round(1 / rmse) if rmse > 1e-9 else 10**9


def iterate(problem: Problem, mixture: Mixture, steps: Steps, run: Run) -> None:
    """Record the state of C, then make a step or a pairwise sweep, add vertices, or stop."""
    penalties = mixture.penalties(problem.lam, problem.mu)
    pairwise, step = steps.pairwise, steps.t + 1
    open_loop = steps.next_is_open_loop(penalties.top, problem.n_components)
    objective, gap, bids = mixture.standing(penalties, bidding=not open_loop)
    used = float(np.count_nonzero(penalties.top))
    run.record(objective=objective, gap=gap, used=used, pairwise=pairwise, step=step)
    if gap <= problem.tol * objective:
        run.stop(StopReason.CONVERGED)
    elif open_loop:
        mixture.move(2 / (steps.t + 2))
    elif steps.no_longer_lower(objective, problem.tol):
        missed = overlooked_rows(mixture, problem.lam, problem.radius)
        if len(missed) == 0:
            run.stop(StopReason.CONVERGED)
        mixture.extend_dictionary(missed)
    else:
        sweep(mixture, penalties, bids, problem.tol * problem.lam, settings.SETTINGS.pairwise_steps)


def sweep(mixture: Mixture, penalties: Penalties, bids: Bids, tolerance: float, steps: int) -> None:
    """Make up to `steps` pairwise steps in every row, each of which gains more than `tolerance`.

    With the largest entry of each column of C as its cap, the objective is that of the fit plus lam
    times the sum of the caps. Rows know of each other through the caps alone, and few change one:

    1. Rows that hold a cap, and for each column the row that gains most from raising its cap, make
       their steps in turn, each with a line search against what the others hold. There are no more
       of them than twice the dictionary.
    2. All rows make steps that stay below the caps. The penalty does not rise, whatever the others
       do: blocks, threads and workers do this side by side.

    No step raises the objective, and how the rows are split has no influence on any of them.
    """
    holders = penalties.columns.holder[penalties.columns.holder >= 0]
    rows = np.unique(np.concatenate([holders, bids.row[bids.gain > tolerance]]))
    few = mixture.part(rows)
    caps = few.step_in_turn(rows, penalties, tolerance, steps)
    pairs = few.pairs()

    def improve(some: MixedRows) -> None:
        some.put(rows, pairs)
        some.step_below(caps, tolerance, steps)

    mixture.change(improve)


def solution(problem: Problem, mixture: Mixture, run: Run) -> Solution:
    """Read the anchors off the largest entries of C, and bound the distance to the optimum."""
    penalties = mixture.penalties(problem.lam, problem.mu)
    objective, gap, _ = mixture.standing(penalties)
    gap = float(np.nanmin([gap, objective]))  # the least objective is not negative
    anchors, margin = choose_anchors(problem, mixture, penalties.top)
    return Solution(
        components=dense_rows(mixture.blocks, anchors),
        anchors=anchors,
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=MeritState(
            dictionary=mixture.dictionary,
            row_maxima=penalties.top,
            lam=problem.lam,
            mu=float(problem.mu),
            objective=objective,
            duality_gap=max(gap, 0.0),
            number_margin=margin,
            group_radius=problem.radius,
        ),
    )


def choose_anchors(
    problem: Problem, mixture: Mixture, maxima: NDArray[np.float64]
) -> tuple[Indices, float]:
    """Return the rows with the largest maxima, and the gap between the last one and the next.

    With n_components=None the number is where the sorted maxima drop most. If more rows than asked
    for are strong, the maxima do not decide between them, and those are kept that explain the data
    best (not in open-loop steps, as in the paper). If fewer rows than asked for are in use at all,
    anchors of the start that are not duplicates are added.
    """
    number = problem.n_components
    order = np.argsort(-maxima, kind="stable")
    used = order[maxima[order] > 0]
    sorted_maxima = np.append(maxima[used], 0.0)
    drops = sorted_maxima[:-1] - sorted_maxima[1:]
    if number is None:
        number = int(np.argmax(drops)) + 1
    strong = used[maxima[used] >= settings.SETTINGS.strong][: number + settings.SETTINGS.surplus]
    if len(strong) > number and not problem.open_loop:
        chosen = best_explaining(mixture.blocks, mixture.dictionary[strong], number)
        return chosen, float(drops[number - 1])
    chosen = mixture.dictionary[used[:number]]
    if len(chosen) == number:
        return chosen, float(drops[number - 1])
    others = np.setdiff1d(problem.start.anchors, chosen, assume_unique=True)
    both = np.concatenate([chosen, others])
    filled = representatives(mixture.blocks.take(both), both, problem.radius)[:number]
    if len(filled) < number:
        warn_user(
            DegenerateData(
                f"is too many: {len(filled)} rows explain every row",
                argument="n_components",
                value=number,
                remedy=f"{len(filled)} components are returned; ask for at most {len(filled)}",
            )
        )
    return filled, 0.0


def best_explaining(blocks: Blocks, candidates: Indices, number: int) -> Indices:
    """Remove the least needed candidate until the requested number is left.

    Ctrl-C ends this, as it takes long: the first candidates are left, as if by their maxima.
    """
    sample = sample_of(blocks)
    while len(candidates) > number:
        losses: list[float] = []
        for i in range(len(candidates)):
            if interrupted():
                return candidates[:number]
            losses.append(missed(sample, blocks, np.delete(candidates, i)))
        candidates = np.delete(candidates, int(np.argmin(losses)))
    return candidates


def best_of_greedy(found: Solution, start: Start) -> tuple[Solution, list[str]]:
    """Return the anchors of SPA or FastAnchor if they explain the rows clearly better; and a note.

    The penalty spreads over rows that share the largest weights of a column. In Gaussian noise this
    costs anchors that greedy methods find; in structured noise it finds those that they miss. What
    the anchors leave of the rows tells which of the two it is.
    """
    assert found.anchors is not None
    blocks, sample = start.blocks, sample_of(start.blocks)
    own = missed(sample, blocks, found.anchors)
    best, name, least = found.anchors, "", settings.SETTINGS.greedy_share * own
    for method, anchors in start.greedy.items():
        if len(anchors) == len(found.anchors) and (left := missed(sample, blocks, anchors)) < least:
            best, name, least = anchors, method, left
    if not name:
        return found, []
    note = f"{name}'s anchors leave {1 - least / own:.1%} less of the rows than MERIT's: taken"
    return replace(found, anchors=best, components=dense_rows(blocks, best)), [note]
