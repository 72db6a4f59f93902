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
import warnings
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.blocks import Blocks
from provenmf.errors import DegenerateData, TooLarge
from provenmf.linalg.norms import squared_frobenius_norm, squared_residual_rows
from provenmf.linalg.spectral import leading_eigenpairs
from provenmf.records import Solution
from provenmf.solvers.anchors import dense_rows
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.spa import spa
from provenmf.solvers.weights import encode

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
    Solution with `objective`, `fit`, `trace` (of U) and `mu` per iteration; extras `diagonal`
    (n,) and `gap`: from the last anchor's diagonal entry to the next one.
    """
    require_memory(blocks.n_rows, memory_limit)
    rng = np.random.default_rng(rng)
    prices = 1.0 + price_spread * (rng.random(blocks.n_rows) - 0.5)
    with warnings.catch_warnings():
        # Fewer independent rows than asked for: no trouble for a cone, which SPA does not know.
        warnings.simplefilter("ignore", DegenerateData)
        first = spa(blocks, n_components)
    assert first.anchors is not None
    target = len(first.anchors) / 2 + 1
    price = _Price(balanced_mu(blocks, first, prices), target) if mu == "auto" else None
    level = price.mu if price is not None else float(mu)

    sizes = blocks.map_rows(lambda block: np.asarray(abs(block).sum(axis=1), np.float64).ravel())
    data = at_most_square(blocks.everything())
    transposed = data.T
    step = 1.0 / (squared_largest_singular_value(data) or 1.0)
    usage, usage_product = np.zeros((blocks.n_rows, blocks.n_rows)), np.zeros(transposed.shape)
    ahead, ahead_product = usage.copy(), usage_product.copy()
    momentum, restarted = FIRST_MOMENTUM, False
    fit, paid = _half_squared(transposed), 0.0

    run = Run(max_iter, callback=callback, verbose=verbose, name="FastGradient")
    for _ in run:
        following = data @ (ahead_product - transposed)
        following *= -step
        following += ahead
        following.flat[:: blocks.n_rows + 1] -= step * level * prices
        project(following, sizes)
        product = data.T @ following

        before = fit + level * paid
        change = np.abs(following.diagonal() - usage.diagonal()).sum()
        fit, paid = _half_squared(transposed - product), float(prices @ following.diagonal())
        objective, trace = fit + level * paid, float(following.trace())
        rose = objective > before and not restarted
        beta, momentum = next_momentum(momentum)
        if rose:
            beta, momentum, restarted = 0.0, FIRST_MOMENTUM, True
        else:
            restarted = False
        np.subtract(following, usage, out=ahead)
        ahead *= beta
        ahead += following
        ahead_product = product + beta * (product - usage_product)
        usage, usage_product = following, product

        run.record(objective=objective, fit=fit, trace=trace, mu=level)
        if restarted and price is not None:
            level = price.steer(trace)
        if change <= tol * max(trace, np.finfo(float).tiny) and not restarted:
            run.stop("converged")

    diagonal = usage.diagonal().copy()
    anchors, gap = largest_entries(diagonal, n_components)
    return Solution(
        components=dense_rows(blocks, anchors),
        anchors=anchors,
        trace=run.trace,
        stop_reason=run.stop_reason,
        extras={"diagonal": diagonal, "gap": np.array(gap)},
    )


def require_memory(n: int, limit: float) -> None:
    """Refuse a size whose n × n matrices do not fit, with the size they would need."""
    needed = 4 * 8 * float(n) ** 2
    if needed > limit:
        raise TooLarge(
            f"FastGradient keeps four {n} × {n} matrices, {needed / 1e9:.1f} GB, and "
            f"memory_limit={limit / 1e9:.1f} GB: raise memory_limit, use fewer rows, or use MERIT "
            "or SPA, whose memory is linear in the rows"
        )


def project(usage: NDArray[np.float64], sizes: NDArray[np.float64]) -> None:
    """Move `usage` in place to the nearest point of GL18's set Ω."""
    from provenmf.kernels.capped_rows import project_capped_rows_in_place

    project_capped_rows_in_place(usage, sizes)


def next_momentum(alpha: float) -> tuple[float, float]:
    """Nesterov's constant step scheme II: extrapolation β and the next α with α₊² = (1 − α₊) α²."""
    following = (math.sqrt(alpha**4 + 4 * alpha**2) - alpha**2) / 2
    return alpha * (1 - alpha) / (alpha**2 + following), following


def balanced_mu(blocks: Blocks, first: Solution, prices: NDArray[np.float64]) -> float:
    """μ with μ Σ p_i = ‖X − WC‖² at SPA's anchors, their U_ii being one.

    Differs: GL18's program adds 1e-3 to the squared residual, which depends on the unit of the
    data; here a millionth of ‖X‖² is the least.
    """
    weights = encode(blocks, first.components)
    squared, total = blocks.map_reduce(
        lambda block, w: (
            squared_residual_rows(block, w, first.components).sum(),
            squared_frobenius_norm(block),
        ),
        weights,
    )
    return max(float(squared), 1e-6 * float(total)) / float(prices[first.anchors].sum())


class _Price:
    """μ, steered towards a trace by a factor that halves at each change of direction."""

    def __init__(self, mu: float, target: float) -> None:
        self.mu, self.target = mu, target
        self._stride = 0.1
        self._lowered: bool | None = None

    def steer(self, trace: float) -> float:
        lower = trace < self.target
        if self._lowered is not None and lower != self._lowered:
            self._stride /= 2
        self._lowered = lower
        self.mu *= 1 - self._stride if lower else 1 + self._stride
        return self.mu


def largest_entries(diagonal: NDArray[np.float64], k: int | None) -> tuple[NDArray[np.intp], float]:
    """Rows with the k largest entries, lowest row first among equals, and the gap behind them.

    Rows that are not used at all are no anchors; with k = None the largest gap decides.
    """
    order = np.argsort(-diagonal, kind="stable")
    gaps = -np.diff(np.append(diagonal[order], 0.0))
    used = max(1, int(np.count_nonzero(diagonal > 0)))
    kept = int(np.argmax(gaps)) + 1 if k is None else min(k, used)
    if k is not None and kept < k:
        warnings.warn(
            f"n_components={k}, but only {kept} rows are used to explain the others: {kept} "
            "components are returned; ask for at most that many, or lower mu",
            DegenerateData,
            stacklevel=4,
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
        return wide.toarray() if sp.issparse(wide) else wide
    if not sp.issparse(wide):
        return np.asarray(scipy.linalg.qr(wide.T, mode="r")[0])[:n].T
    values, vectors = np.linalg.eigh((wide @ wide.T).toarray())
    return vectors * np.sqrt(np.maximum(values, 0.0))


def squared_largest_singular_value(data: NDArray[np.float64]) -> float:
    """σ₁², by Lanczos or from the Gram matrix; zero for zero data."""
    if not data.any():
        return 0.0
    return float(leading_eigenpairs(data.T @ data, data.shape[1], 1).values[0])


def _half_squared(matrix: NDArray[np.float64]) -> float:
    return 0.5 * float(np.einsum("ij,ij->", matrix, matrix))
