"""FastGradient: which rows explain all rows, as one smooth convex problem over n × n weights.

Gillis & Luce, "A fast gradient method for nonnegative sparse regression with self-dictionary",
2018 (GL18). Over usage U (n, n), U_ij = how much of row i is used in row j:

    min ½‖X − Uᵀ X‖²_F + μ Σ_i p_i U_ii
    over 0 ≤ U_ij ≤ (s_j / s_i) U_ii, U_ii ≤ 1,   s_i = sum of absolute values of row i

    GL18                          here
    M, points in columns          data X, points in rows
    X                             usage U
    w                             sizes s
    Ω                             the set above; projection in kernels/capped_rows.py
    p, close to one               prices, 1 ± 0.005 from rng: break ties between duplicates
    r                             n_components
    K                             anchors: the largest diagonal entries of U

Nesterov's method with step 1/σ₁(X)², restarted whenever the objective rises. With mu="auto" the
first μ balances both terms at SPA's anchors, and each restart moves it by a shrinking factor
towards trace(U) = k/2 + 1, the default of GL18's program. An iteration takes 4 n² d operations:
XᵀU (d, n) and X times it; the extrapolated point's product follows from those of the two last
iterates. Memory is four n × n matrices by nature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.errors import DegenerateData, TooLarge, warn_user
from provenmf.linalg.norms import absolute_row_sums
from provenmf.linalg.spectral import leading_eigenpairs
from provenmf.linalg.storage import as_dense
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable.anchors import dense_rows
from provenmf.methods.separable.price import Price, steered_price
from provenmf.results import Solution, StopReason
from provenmf.results.states import FastGradientState

FIRST_MOMENTUM = 0.05


def fast_gradient(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    mu: float | str = "auto",
    price_spread: float = 0.01,
    max_iter: int = 500,
    tol: float = 1e-6,
    memory_limit: float = 8e9,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Anchors by the fast gradient method of GL18.

    Parameters
    ----------
    n_components : how many anchors; None takes the largest gap in the sorted diagonal.
    mu : price of the diagonal, or "auto": balanced at the start and then steered by the trace.
    price_spread : width of the uniform distribution around one from which prices are drawn.
    tol : stop when the diagonal changes by less than this fraction of its sum.
    memory_limit : bytes the n × n matrices may take together.

    Returns
    -------
    Solution with `objective`, `fit`, `trace` (of U) and `mu` per iteration; its state
    has the `diagonal` (n,) and the `gap` from the last anchor's diagonal entry to the next one.
    """
    require_memory(blocks.n_rows, memory_limit)
    rng = np.random.default_rng(rng)
    prices = 1.0 + price_spread * (rng.random(blocks.n_rows) - 0.5)
    level = steered_price(blocks, n_components, prices) if mu == "auto" else Price(float(mu))
    problem = Problem(blocks, prices)
    here = problem.nothing_used()
    ahead, ahead_product = here.usage.copy(), here.product.copy()
    momentum, restarted = FIRST_MOMENTUM, False

    run = Run(max_iter, callback=callback, verbose=verbose, name="FastGradient")
    if run.saved is not None:
        here = Point(**run.saved["here"])
        ahead, ahead_product = run.saved["ahead"]
        momentum, restarted = run.saved["momentum"], run.saved["restarted"]
        vars(level).update(run.saved["price"])
    run.keeps(
        lambda: {
            "here": here,
            "ahead": (ahead, ahead_product),
            "momentum": momentum,
            "restarted": restarted,
            "price": vars(level),
        }
    )
    for _ in run:
        following = problem.step_from(ahead, ahead_product, level.mu)
        objective = following.objective(level.mu)
        # A step right after a restart may rise without another one: nothing was extrapolated.
        restarted = objective > here.objective(level.mu) and not restarted
        beta, momentum = (0.0, FIRST_MOMENTUM) if restarted else next_momentum(momentum)
        np.subtract(following.usage, here.usage, out=ahead)
        ahead *= beta
        ahead += following.usage
        ahead_product = following.product + beta * (following.product - here.product)
        change = np.abs(following.usage.diagonal() - here.usage.diagonal()).sum()
        here, trace = following, float(following.usage.trace())

        run.record(objective=objective, fit=here.fit, trace=trace, mu=level.mu)
        if restarted:
            level.steer(trace)
        elif change <= tol * max(trace, np.finfo(float).tiny):
            run.stop(StopReason.CONVERGED)

    diagonal = here.usage.diagonal().copy()
    anchors, gap = largest_entries(diagonal, n_components)
    return Solution(
        components=dense_rows(blocks, anchors),
        anchors=anchors,
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=FastGradientState(diagonal, float(gap)),
    )


@dataclass(frozen=True, eq=False)
class Point:
    """Usage U (n, n) with the product XᵀU (d, n) and the two terms of the objective."""

    usage: NDArray[np.float64]
    product: NDArray[np.float64]
    fit: float
    paid: float

    def objective(self, mu: float) -> float:
        """½‖X − UᵀX‖²_F + μ Σ_i p_i U_ii."""
        return self.fit + mu * self.paid


class Problem:
    """The data, in at most n dimensions, with all that a gradient step needs."""

    def __init__(self, blocks: Blocks, prices: NDArray[np.float64]) -> None:
        self.prices = prices
        self.sizes = blocks.map_rows(absolute_row_sums)
        self.data = at_most_square(blocks.everything())
        self.step = 1.0 / (squared_largest_singular_value(self.data) or 1.0)

    def nothing_used(self) -> Point:
        """U = 0, where the method starts."""
        n, d = self.data.shape
        return Point(np.zeros((n, n)), np.zeros((d, n)), _half_squared(self.data), 0.0)

    def step_from(
        self, usage: NDArray[np.float64], product: NDArray[np.float64], mu: float
    ) -> Point:
        """A projected gradient step from any point and its product."""
        following = self.data @ (product - self.data.T)
        following *= -self.step
        following += usage
        following.flat[:: len(following) + 1] -= self.step * mu * self.prices
        project(following, self.sizes)
        new_product = self.data.T @ following
        paid = float(self.prices @ following.diagonal())
        return Point(following, new_product, _half_squared(self.data.T - new_product), paid)


def require_memory(n: int, limit: float) -> None:
    """Refuse a size whose n × n matrices do not fit, with the size they would need."""
    needed = 4 * 8 * float(n) ** 2
    if needed > limit:
        raise TooLarge(
            f"is less than the {needed / 1e9:.1f} GB of four {n} × {n} matrices, which "
            "FastGradient keeps",
            argument="memory_limit",
            value=limit,
            remedy="raise it, use fewer rows, or use MERIT or SPA, whose memory is linear in the "
            "rows",
        )


def project(usage: NDArray[np.float64], sizes: NDArray[np.float64]) -> None:
    """Move `usage` in place to the nearest point of GL18's set Ω."""
    from provenmf.methods.separable.kernels import project_capped_rows_in_place

    project_capped_rows_in_place(usage, sizes)


def next_momentum(alpha: float) -> tuple[float, float]:
    """Nesterov's constant step scheme II: extrapolation β and the next α with α₊² = (1 − α₊) α²."""
    following = (math.sqrt(alpha**4 + 4 * alpha**2) - alpha**2) / 2
    return alpha * (1 - alpha) / (alpha**2 + following), following


def largest_entries(diagonal: NDArray[np.float64], k: int | None) -> tuple[NDArray[np.intp], float]:
    """Rows with the k largest entries, lowest row first among equals, and the gap behind them.

    Rows that are not used at all are no anchors; with k = None the largest gap decides.
    """
    order = np.argsort(-diagonal, kind="stable")
    gaps = -np.diff(np.append(diagonal[order], 0.0))
    used = max(1, int(np.count_nonzero(diagonal > 0)))
    kept = int(np.argmax(gaps)) + 1 if k is None else min(k, used)
    if k is not None and kept < k:
        warn_user(
            DegenerateData(
                f"is too many: only {kept} rows are used to explain the others",
                argument="n_components",
                value=k,
                remedy=f"{kept} components are returned; ask for at most that many, or lower mu",
            )
        )
    return order[:kept], float(gaps[kept - 1])


def at_most_square(data: Any) -> NDArray[np.float64]:
    """Dense rows with the inner products of the data's rows, in at most n dimensions.

    Only inner products of rows enter the problem, so with more columns than rows an n × n
    factor L with L Lᵀ = X Xᵀ serves as well, and wide sparse data are never made dense.
    """
    n, d = data.shape
    wide = data.astype(np.float64, copy=False)
    if d <= n:
        return as_dense(wide)
    if not sp.issparse(wide):
        return np.asarray(scipy.linalg.qr(wide.T, mode="r")[0])[:n].T
    values, vectors = np.linalg.eigh((wide @ wide.T).toarray())
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def squared_largest_singular_value(data: NDArray[np.float64]) -> float:
    """σ₁², by Lanczos or from the Gram matrix; zero for zero data."""
    if not data.any():
        return 0.0
    return float(leading_eigenpairs(data.T @ data, data.shape[1], 1).values[0])


def _half_squared(matrix: NDArray[np.float64]) -> float:
    return 0.5 * float(np.einsum("ij,ij->", matrix, matrix))
