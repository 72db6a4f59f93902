"""MERIT (Nguyen, Fu & Wu 2021, Nguyen22): anchors from every row as a mixture of rows.

    Nguyen22                         here
    X (M x N), points in columns     X (n x d), points in rows
    K, N                             n_components, n
    C (N x N), columns c_l           C (n x n), row l mixes data rows into row l
    C(n, :), a row                   column n of C: who uses row n, and how much
    W = X(:, K)                      components = X[anchors]
    H                                weights, found by the estimator
    lambda, mu, alpha                lam, mu, alpha

Objective, Eq. (18), with its scaling:  1/2 ||X - C X||_F^2 + lam * sum_n phi_mu(C[:, n]), rows of C
on the simplex, phi_mu the log-mean-exp smoothing of the largest entry. Anchors are the rows n with
the largest max_l C[l, n].

`step="open-loop"` is Algorithm 1. `step="pairwise"`, the default, differs in three ways, each with
its reason in docs/decisions.md: lam follows the noise of one row and not of the whole matrix;
single rows make pairwise steps with an exact line search, after open-loop steps if the rows are
few, else from what anchors chosen greedily explain; then the vertices are a few extreme rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import block_bytes
from provenmf.data import Blocks, as_blocks
from provenmf.errors import InvalidInput, TooLarge
from provenmf.linalg.storage import as_dense
from provenmf.methods.merit.columns import Penalties
from provenmf.methods.merit.dictionary import candidate_rows, overlooked_rows, representatives
from provenmf.methods.merit.gap import SEARCH_ROWS, dictionary_gap, duality_gap, extent_of
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.number import choose_anchors
from provenmf.methods.merit.spread import SpreadMixture
from provenmf.methods.merit.start import Start, penalty_weight, start_from_anchors
from provenmf.methods.merit.steps import OPEN_LOOP_STEPS, Steps
from provenmf.methods.merit.sweep import sweep
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable.anchors import dense_rows
from provenmf.results import Solution, StopReason
from provenmf.results.states import MeritState

Step = Literal["pairwise", "open-loop"]
Lam = float | Literal["auto", "paper", "authors"]

# Up to this many rows all of them are vertices, and the steps start from C = 0.
FEW_ROWS = 1000
DICTIONARY = 400  # beyond, this many extreme rows are vertices
PAIRWISE_STEPS = 10  # at most, in each row and sweep
DEFAULT_ITERATIONS = {"open-loop": 100, "pairwise": 1000}
DENSE_BYTES = 16e9
BLOCK_BYTES = 1 << 26  # of dense rows worked on at a time, with their pairs
ROW_BYTES = 1000


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
    group_duplicates: float | Literal["auto"] = "auto",
    rng: np.random.Generator,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Anchors by self-dictionary convex optimization; see `provenmf.MERIT` for the parameters.

    Returns
    -------
    Solution whose trace has per iteration the `objective` and the duality `gap` over the dictionary
    (each before the step), `used`, the vertices in use, whether the steps are `pairwise`, and
    `step`, how many open-loop steps there were with those that a warm start saves.
    Its MeritState says what was solved and how far from the optimum it is.
    """
    blocks = rows_for(blocks, step)
    plain = lam in ("paper", "authors") or init == "spa"
    start = start_from_anchors(blocks, n_components, plain=plain)
    problem = posed(blocks, n_components, start, step, lam, mu, tol, group_duplicates)
    mixture = mixture_for(problem, rng)
    steps = first_steps(problem, mixture, warm=init == "spa")
    run = Run(
        max_iter or DEFAULT_ITERATIONS[step], callback=callback, verbose=verbose, name="MERIT"
    )
    if run.saved is not None:
        mixture.restore(run.saved["mixture"])
        vars(steps).update(run.saved["steps"])
    run.keeps(lambda: {"mixture": mixture.kept(), "steps": vars(steps)})
    for _ in run:
        make_step(problem, mixture, steps, run)
    return solution(problem, mixture, run)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be solved, and how.

    lam, mu : of the objective. tol : see `provenmf.MERIT`. radius : rows this near count as one.
    open_loop : whether Algorithm 1 makes all steps. all_rows : whether all rows may be vertices.
    exactly : whether vertices are chosen in double precision, as the paper's are.
    """

    blocks: Blocks
    n_components: int | None
    start: Start
    lam: float
    mu: float
    tol: float
    radius: float
    open_loop: bool
    all_rows: bool
    exactly: bool


def posed(
    blocks: Blocks,
    n_components: int | None,
    start: Start,
    step: Step,
    lam: Lam,
    mu: float,
    tol: float,
    group_duplicates: float | Literal["auto"],
) -> Problem:
    """The problem with the penalty and the radius that follow from the start.

    Without a penalty the optimum is C = I whatever the data; what tells anchors apart is then the
    path of Frank-Wolfe (Nguyen22, Theorems 1 and 2), so that MERIT(0) has no pairwise steps.
    """
    weight = penalty_weight(lam, start)
    return Problem(
        blocks,
        n_components,
        start,
        weight,
        mu,
        tol,
        radius=start.duplicate_radius if group_duplicates == "auto" else float(group_duplicates),
        open_loop=step == "open-loop" or weight == 0,
        all_rows=step == "open-loop" or blocks.n_rows <= FEW_ROWS,
        exactly=step == "open-loop",
    )


def vertices(problem: Problem, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows that may be vertices, none of them twice."""
    blocks, start = problem.blocks, problem.start
    rows = np.arange(blocks.n_rows)
    if not problem.all_rows:
        size = max(DICTIONARY, 4 * len(start.anchors))
        rows = candidate_rows(blocks, start.anchors, start.squared_residuals, size, rng)
    rows = representatives(dense_rows(blocks, rows), rows, problem.radius)
    if problem.n_components is not None and problem.n_components > len(rows):
        raise InvalidInput(
            f"exceeds the {len(rows)} distinct rows of X (farther than {problem.radius:.3g} apart)",
            argument="n_components",
            value=problem.n_components,
            remedy=f"ask for at most {len(rows)} components",
        )
    return rows


def mixture_for(problem: Problem, rng: np.random.Generator) -> Mixture | SpreadMixture:
    """Every row as a mixture, from C = 0: of rows at hand, or of rows where they are."""
    rows = vertices(problem, rng)
    if problem.all_rows or problem.blocks.n_rows <= SEARCH_ROWS:
        X = as_dense(problem.blocks.everything())
        return Mixture(X, rows, exact=problem.exactly)
    return SpreadMixture(problem.blocks, rows)


def first_steps(problem: Problem, mixture: Mixture | SpreadMixture, *, warm: bool) -> Steps:
    """Where to begin: at C = 0, or at the mixtures of the start's anchors (Nguyen22, V-B)."""
    most_open_loop = OPEN_LOOP_STEPS if problem.all_rows else 0
    steps = Steps(None if problem.open_loop else most_open_loop)
    if warm or not (problem.open_loop or problem.all_rows):
        steps.begin_at(mix_anchors(mixture, problem.start))
    return steps


def make_step(problem: Problem, mixture: Mixture | SpreadMixture, steps: Steps, run: Run) -> None:
    """Record where C is; then one open-loop step, one pairwise sweep, more vertices, or the end."""
    penalties = mixture.penalties(problem.lam, problem.mu)
    objective, gap, wishes, vertex = mixture.standing(penalties)
    used = float(np.count_nonzero(penalties.top))
    run.record(objective=objective, gap=gap, used=used, pairwise=steps.pairwise, step=steps.t + 1)
    if gap <= problem.tol * objective:
        run.stop(StopReason.CONVERGED)
    elif steps.next_is_open_loop(penalties.top, problem.n_components):
        open_loop_step(mixture, penalties, vertex, 2 / (steps.t + 2))
    elif steps.no_longer_lower(objective, problem.tol):
        missed = overlooked_rows(mixture, problem.lam, problem.radius)
        if len(missed) == 0:
            run.stop(StopReason.CONVERGED)
        mixture.extend_dictionary(missed)
    else:
        sweep(mixture, penalties, wishes, problem.tol * problem.lam, PAIRWISE_STEPS)


def open_loop_step(
    mixture: Mixture | SpreadMixture,
    penalties: Penalties,
    vertex: NDArray[np.int32] | None,
    alpha: float,
) -> None:
    """Every row goes towards its best vertex; blocks elsewhere search for theirs again."""
    if isinstance(mixture, Mixture):
        assert vertex is not None
        mixture.move(vertex, alpha)
    else:
        mixture.change(lambda some: some.move(some.search(penalties)[0], alpha))


def solution(problem: Problem, mixture: Mixture | SpreadMixture, run: Run) -> Solution:
    """Anchors read off the largest entries of C, and how far C is from the optimum."""
    penalties = mixture.penalties(problem.lam, problem.mu)
    extent = extent_of(mixture)
    objective = extent.objective(penalties)
    in_a_hurry = run.stop_reason is StopReason.INTERRUPTED
    gap, searched = duality_gap(mixture, penalties, extent, quickly=in_a_hurry)
    gap_within = gap
    if not in_a_hurry and len(mixture.dictionary) < mixture.n_rows:
        gap_within = min(gap, dictionary_gap(mixture, penalties, objective))
    anchors, margin = choose_anchors(
        mixture,
        penalties.top,
        problem.n_components,
        problem.start.anchors,
        problem.radius,
        by_maxima=problem.open_loop,
    )
    return Solution(
        components=mixture.rows(anchors),
        anchors=anchors,
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=MeritState(
            dictionary=mixture.dictionary,
            row_maxima=penalties.top,
            lam=problem.lam,
            mu=float(problem.mu),
            objective=objective,
            duality_gap=gap,
            gap_searched=searched,
            dictionary_gap=gap_within,
            number_margin=margin,
            group_radius=problem.radius,
        ),
    )


def mix_anchors(mixture: Mixture | SpreadMixture, start: Start) -> int:
    """Set C to the mixtures of the start's anchors; the step to go on from (Nguyen22, V-B)."""
    kept = np.flatnonzero(np.isin(start.anchors, mixture.dictionary))
    columns = np.searchsorted(mixture.dictionary, start.anchors[kept])
    mixture.start_from(columns, start.mixtures_of(kept))
    rmse = float(np.sqrt(mixture.squared_residuals().mean()))
    return round(1 / rmse) if rmse > 1e-9 else 10**9


def rows_for(blocks: Blocks, step: Step) -> Blocks:
    """The rows as the method needs them: dense and at hand, where all of them are compared.

    Beyond SEARCH_ROWS pairwise steps leave the rows where they are, in blocks of which all that is
    computed for their rows is small.
    """
    size = bytes_at_hand(blocks, step)
    if size:
        if size > DENSE_BYTES:
            raise TooLarge(
                f"X of shape {blocks.shape} takes {size / 1e9:.1f} GB with what is fitted to it, "
                "both dense, and here MERIT compares all rows with each other",
                argument="n_components",
                remedy="project the rows to a few times {argument} dimensions first"
                + (", or use {:step='pairwise'}" if step == "open-loop" else ""),
            )
        return as_blocks(as_dense(blocks.everything()), block_rows=blocks.n_rows)
    return blocks.in_blocks_of(block_bytes(BLOCK_BYTES) // (8 * blocks.n_columns + ROW_BYTES))


def bytes_at_hand(blocks: Blocks, step: Step) -> float:
    """What dense rows and their fit take where all rows are compared with each other, else 0."""
    all_pairs = step == "open-loop" or blocks.n_rows <= SEARCH_ROWS
    return 16.0 * blocks.n_rows * blocks.n_columns if all_pairs else 0.0
