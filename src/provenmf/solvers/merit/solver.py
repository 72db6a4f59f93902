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

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Blocks, as_blocks
from provenmf.errors import InvalidInput, TooLarge
from provenmf.records import Solution, StopReason
from provenmf.records.states import MeritState
from provenmf.solvers.merit.dictionary import candidate_rows, representatives
from provenmf.solvers.merit.gap import dictionary_gap, duality_gap
from provenmf.solvers.merit.mixture import Mixture
from provenmf.solvers.merit.number import choose_anchors
from provenmf.solvers.merit.start import Start, penalty_weight, start_from_anchors
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.separable.anchors import dense_rows
from provenmf.storage import as_dense

Step = Literal["pairwise", "open-loop"]

# Up to this many rows all of them are vertices, and the steps start from C = 0.
FEW_ROWS = 1000
DICTIONARY = 400  # beyond, this many extreme rows are vertices
# Open-loop steps after which pairwise steps take over at the latest, and the least number of
# them after which they may do so because the leading rows have not changed for half of the time.
OPEN_LOOP_STEPS = 300
SETTLED_STEPS = 100
PAIRWISE_STEPS = 10  # at most, in each row and sweep
DEFAULT_ITERATIONS = {"open-loop": 100, "pairwise": 1000}
DENSE_BYTES = 8e9


def merit(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    step: Step = "pairwise",
    lam: float | Literal["auto", "paper", "authors"] = "auto",
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
    X = dense_matrix(blocks)
    plain = lam in ("paper", "authors") or init == "spa"
    start = start_from_anchors(as_blocks(X), n_components, plain=plain)
    lam = penalty_weight(lam, start)
    radius = start.duplicate_radius if group_duplicates == "auto" else float(group_duplicates)
    # Without a penalty the optimum is C = I whatever the data; what tells anchors apart is then
    # the path of Frank-Wolfe (Nguyen22, Theorems 1 and 2), so that MERIT(0) has no pairwise steps.
    open_loop = step == "open-loop" or lam == 0
    all_rows = step == "open-loop" or len(X) <= FEW_ROWS
    dictionary = np.arange(len(X))
    if not all_rows:
        size = max(DICTIONARY, 4 * len(start.anchors))
        dictionary = candidate_rows(X, start.anchors, start.squared_residuals, size, rng)
    dictionary = representatives(X, dictionary, radius)
    if n_components is not None and n_components > len(dictionary):
        raise InvalidInput(
            f"exceeds the {len(dictionary)} distinct rows of X (farther than {radius:.3g} apart)",
            argument="n_components",
            value=n_components,
            remedy=f"ask for at most {len(dictionary)} components",
        )

    run = Run(
        max_iter or DEFAULT_ITERATIONS[step], callback=callback, verbose=verbose, name="MERIT"
    )
    mixture = Mixture(X, dictionary, exact=step == "open-loop")
    steps = Steps(None if open_loop else OPEN_LOOP_STEPS if all_rows else 0)
    if init == "spa" or not (open_loop or all_rows):
        steps.begin_at(mix_anchors(mixture, start))
    for _ in run:
        penalties = mixture.penalties(lam, mu)
        vertex, lowest, inner = mixture.search(penalties)
        objective = mixture.objective(penalties)
        gap = float((inner - lowest).sum()) if mixture.count[0] else np.nan
        used = float(np.count_nonzero(penalties.top))
        run.record(
            objective=objective, gap=gap, used=used, pairwise=steps.pairwise, step=steps.t + 1
        )
        if gap <= tol * objective:
            run.stop(StopReason.CONVERGED)
        elif steps.next_is_open_loop(penalties.top, n_components):
            mixture.move(vertex, 2 / (steps.t + 2))
        elif steps.no_longer_lower(objective, tol):
            missed = overlooked_rows(mixture, lam, radius)
            if len(missed) == 0:
                run.stop(StopReason.CONVERGED)
            mixture.extend_dictionary(missed)
        else:
            mixture.sweep(lam, tol * lam, PAIRWISE_STEPS)

    penalties = mixture.penalties(lam, mu)
    in_a_hurry = run.stop_reason is StopReason.INTERRUPTED
    gap, searched = duality_gap(mixture, penalties, quickly=in_a_hurry)
    gap_within = gap
    if not in_a_hurry and len(mixture.dictionary) < len(X):
        gap_within = min(gap, dictionary_gap(mixture, penalties))
    anchors, margin = choose_anchors(
        mixture, penalties.top, n_components, start.anchors, radius, by_maxima=open_loop
    )
    return Solution(
        components=dense_rows(blocks, anchors),
        anchors=anchors,
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=MeritState(
            dictionary=mixture.dictionary,
            row_maxima=penalties.top,
            lam=float(lam),
            mu=float(mu),
            objective=float(mixture.objective(penalties)),
            duality_gap=float(gap),
            gap_searched=bool(searched),
            dictionary_gap=float(gap_within),
            number_margin=float(margin),
            group_radius=float(radius),
        ),
    )


class Steps:
    """Which kind of step comes next: open-loop ones first, then pairwise ones.

    After `most_open_loop` steps the pairwise ones begin at the latest; None is never.
    """

    def __init__(self, most_open_loop: int | None) -> None:
        self.t = -1
        self.pairwise = False
        self._most = most_open_loop
        self._first = 0
        self._leaders: frozenset[int] = frozenset()
        self._unchanged_since = 0
        self._objective = np.inf

    def begin_at(self, first_step: int) -> None:
        """Count on from a step, as after a warm start."""
        self._first, self.t = first_step, first_step - 1

    def next_is_open_loop(self, maxima: NDArray[np.float64], n_components: int | None) -> bool:
        """Count one open-loop step, or find that it is time for pairwise ones."""
        if self.pairwise:
            return False
        self.t += 1
        made = self.t - self._first
        leaders = frozenset(np.argsort(-maxima, kind="stable")[: n_components or 1].tolist())
        if leaders != self._leaders:
            self._leaders, self._unchanged_since = leaders, made
        settled = made >= SETTLED_STEPS and made >= 2 * self._unchanged_since
        self.pairwise = self._most is not None and (settled or made >= self._most)
        return not self.pairwise

    def no_longer_lower(self, objective: float, tol: float) -> bool:
        """Whether the last sweep lowered the objective by less than a fraction tol."""
        done = self._objective - objective <= tol * objective
        self._objective = np.inf if done else objective
        return done


def mix_anchors(mixture: Mixture, start: Start) -> int:
    """Set C to the mixtures of the start's anchors; the step to go on from (Nguyen22, V-B)."""
    kept = np.flatnonzero(np.isin(start.anchors, mixture.dictionary))
    columns = np.searchsorted(mixture.dictionary, start.anchors[kept])
    mixture.start_from(columns, start.weights_of(kept))
    rmse = float(np.sqrt(mixture.squared_residuals().mean()))
    return round(1 / rmse) if rmse > 1e-9 else 10**9


def overlooked_rows(mixture: Mixture, lam: float, radius: float) -> NDArray[np.intp]:
    """Rows outside the dictionary that would keep at least half of themselves.

    Alone in its own column, a row whose mixture leaves r takes weight 1 - lam / ||r||^2 on itself:
    the minimiser over s of 1/2 (1 - s)^2 ||r||^2 + lam s. The worst rows come first.
    """
    squared = mixture.squared_residuals()
    squared[mixture.dictionary] = 0.0
    rows = np.flatnonzero(squared > 2 * lam)
    rows = rows[np.argsort(-squared[rows], kind="stable")][: len(mixture.dictionary)]
    both = np.concatenate([mixture.dictionary, rows])
    return np.setdiff1d(representatives(mixture.X, both, radius), mixture.dictionary)


def dense_matrix(blocks: Blocks) -> NDArray[Any]:
    """All rows in memory: the method needs them again in every step."""
    size = 8.0 * blocks.n_rows * blocks.n_columns
    if size > DENSE_BYTES:
        raise TooLarge(
            f"X of shape {blocks.shape} takes {size / 1e9:.1f} GB as a dense matrix, and MERIT "
            "keeps two",
            argument="n_components",
            remedy="project the rows to a few times {argument} dimensions first",
        )
    return as_dense(blocks.everything())
