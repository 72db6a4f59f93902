"""FastGradient: which rows explain all rows, as one smooth convex problem over n × n weights.

Gillis & Luce, "A fast gradient method for nonnegative sparse regression with self-dictionary",
2018 (GL18). Over usage U (n, n), U_ij = how much of row i is used in row j:

    min ½‖X − Uᵀ X‖²_F + μ Σ_i p_i U_ii
    over 0 ≤ U_ij ≤ (s_j / s_i) U_ii, U_ii ≤ 1,   s_i = sum of absolute values of row i

    GL18                          here
    M, points in columns          data X, points in rows
    X                             usage U
    w                             sizes s
    Ω                             the set above; `project_capped_rows_in_place`
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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks
from provenmf.errors import DegenerateData, TooLarge, warn_user
from provenmf.linalg.compiled import njit
from provenmf.linalg.nnls import encoder
from provenmf.linalg.norms import absolute_row_sums, squared_frobenius_norm, squared_residual_rows
from provenmf.linalg.spectral import leading_eigenpairs
from provenmf.linalg.storage import as_dense
from provenmf.methods.base import Factorizer
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable import guarantee
from provenmf.methods.separable.anchors import dense_rows
from provenmf.methods.separable.spa import spa
from provenmf.methods.traits import Count, NotNegative, Seed, Traits
from provenmf.results import Certificate, Solution, StopReason
from provenmf.results.states import FastGradientState

FIRST_MOMENTUM = 0.05
PRICE_SPREAD = 0.01
MOST_BYTES = 16e9  # of the n × n matrices; more are refused


@dataclass(eq=False, repr=False, kw_only=True)
class FastGradient(Factorizer):
    """Fast gradient method (Gillis & Luce 2018): one convex problem over n × n weights.

    Model: every row is a nonnegative combination of a few rows of the data; the problem selects
    these rows. Memory is quadratic in the number of rows: 32 n² bytes.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None takes the largest gap in the sorted diagonal.
    mu : float or "auto", default="auto"
        Penalty for using a row at all; "auto" balances it with the error and then adapts it.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-06
        Stop when the diagonal changes by less than this share of its sum.
    random_state : int, RandomState instance or None, default=None
        For the prices: the penalties of the rows are random between 0.995 and 1.005, which
        separates duplicates.
    certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components, by decreasing diagonal entry.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The record's state holds the `diagonal` and the `gap`.

    See Also
    --------
    MERIT : the same idea in linear memory.

    References
    ----------
    Gillis, N. and Luce, R., "A fast gradient method for nonnegative sparse regression with
    self-dictionary", IEEE Transactions on Image Processing, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import FastGradient
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> sorted(FastGradient(n_components=2, random_state=0).fit(X).anchors_.tolist())
    [0, 1]
    """

    _method = "fast_gradient"
    traits = Traits(
        negative_data=True,
        finds_number=True,
        anchors=True,
        random="always",
        block_by_block=False,
        compares_rows=True,
    )

    mu: NotNegative | Literal["auto"] = "auto"
    max_iter: Count = 500
    tol: NotNegative = 1e-6
    random_state: Seed = None

    def _gathered_bytes(self, blocks: Blocks) -> float:
        return 32.0 * blocks.n_rows**2  # four matrices of rows by rows; the data are no more

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return self._call(fast_gradient, blocks, self._number_wanted(blocks.n_rows), rng=rng)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_cone(fit)


def fast_gradient(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    mu: float | str = "auto",
    max_iter: int = 500,
    tol: float = 1e-6,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find anchors by the fast gradient method of GL18; see `FastGradient` for the parameters.

    The trace has `objective`, `fit`, `trace` (of U) and `mu`; the state the `diagonal` of U and the
    `gap` from the last anchor's entry to the next one.
    """
    n = blocks.n_rows
    if 32 * n**2 > MOST_BYTES:
        raise TooLarge(
            f"FastGradient keeps four {n} × {n} matrices, {32 * n**2 / 1e9:.1f} GB: use fewer "
            "rows, or MERIT or SPA, whose memory is linear in the rows"
        )
    rng = np.random.default_rng(rng)
    prices = 1.0 + PRICE_SPREAD * (rng.random(blocks.n_rows) - 0.5)
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
        """Return ½‖X − UᵀX‖²_F + μ Σ_i p_i U_ii."""
        return self.fit + mu * self.paid


class Problem:
    """The data, in at most n dimensions, with all that a gradient step needs."""

    def __init__(self, blocks: Blocks, prices: NDArray[np.float64]) -> None:
        self.prices = prices
        self.sizes = blocks.map_rows(absolute_row_sums)
        self.data = at_most_square(blocks.everything())
        self.step = 1.0
        if self.data.any():
            gram = self.data.T @ self.data
            self.step /= float(leading_eigenpairs(gram, 1)[0][0])

    def nothing_used(self) -> Point:
        """Return U = 0, where the method starts."""
        n, d = self.data.shape
        return Point(np.zeros((n, n)), np.zeros((d, n)), _half_squared(self.data), 0.0)

    def step_from(
        self, usage: NDArray[np.float64], product: NDArray[np.float64], mu: float
    ) -> Point:
        """Make a projected gradient step from any point and its product."""
        following = self.data @ (product - self.data.T)
        following *= -self.step
        following += usage
        following.flat[:: len(following) + 1] -= self.step * mu * self.prices
        project_capped_rows_in_place(following, self.sizes)
        new_product = self.data.T @ following
        paid = float(self.prices @ following.diagonal())
        return Point(following, new_product, _half_squared(self.data.T - new_product), paid)


def next_momentum(alpha: float) -> tuple[float, float]:
    """Return Nesterov's β (constant step scheme II) and the next α with α₊² = (1 − α₊) α²."""
    following = (math.sqrt(alpha**4 + 4 * alpha**2) - alpha**2) / 2
    return alpha * (1 - alpha) / (alpha**2 + following), following


def largest_entries(diagonal: NDArray[np.float64], k: int | None) -> tuple[NDArray[np.intp], float]:
    """Return the rows with the k largest entries, lowest first among equals, and the gap behind.

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
                remedy=f"{kept} components are returned; ask for at most {kept}, or lower mu",
            )
        )
    return order[:kept], float(gaps[kept - 1])


def at_most_square(data: Any) -> NDArray[np.float64]:
    """Return dense rows with the inner products of the data's rows, in at most n dimensions.

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


def _half_squared(matrix: NDArray[np.float64]) -> float:
    return 0.5 * float(np.einsum("ij,ij->", matrix, matrix))


class Price:
    """μ, steered towards a trace by a factor that halves at each change of direction."""

    def __init__(self, mu: float, target: float | None = None) -> None:
        self.mu = mu
        self._target = target  # None: μ stays
        self._stride = 0.1
        self._lowered: bool | None = None

    def steer(self, trace: float) -> None:
        """Lower μ where too little is used, else raise it."""
        if self._target is None:
            return
        lower = trace < self._target
        if self._lowered is not None and lower != self._lowered:
            self._stride /= 2
        self._lowered = lower
        self.mu *= 1 - self._stride if lower else 1 + self._stride


def steered_price(blocks: Blocks, n_components: int | None, prices: NDArray[np.float64]) -> Price:
    """Return μ with μ Σ p_i = ‖X − WC‖² at SPA's anchors, their U_ii being one, to be steered.

    Differs: GL18's program adds 1e-3 to the squared residual, which depends on the unit of the
    data; here a millionth of ‖X‖² is the least.
    """
    with warnings.catch_warnings():
        # SPA warns of fewer independent rows than components; a cone may have dependent corners.
        warnings.simplefilter("ignore", DegenerateData)
        first = spa(blocks, n_components)
    assert first.anchors is not None  # SPA always chooses rows
    weights = blocks.map_rows(encoder(first.components, blocks.dtype))
    squared, total = blocks.map_reduce(
        lambda block, w: (
            squared_residual_rows(block, w, first.components).sum(),
            squared_frobenius_norm(block),
        ),
        weights,
    )
    mu = max(float(squared), 1e-6 * float(total)) / float(prices[first.anchors].sum())
    return Price(mu, target=len(first.anchors) / 2 + 1)


@njit(cache=True)
def project_capped_rows_in_place(usage: Any, sizes: Any) -> None:
    """Replace row i of `usage` by the nearest v with 0 ≤ v_j ≤ (s_j / s_i) t and t = v_i ≤ 1.

    For every row i of the n × n matrix; u is the row as it was, s = `sizes` ≥ 0. With the caps
    a_j = s_j / s_i and t given, the best v_j is u_j clipped to [0, a_j t], so only t is to be
    found: it is the zero of
        g(t) = t − u_i + Σ_{j ≠ i, u_j > a_j t} a_j (a_j t − u_j)
    clipped to [0, 1]. g increases and is concave (fewer and fewer terms count as t grows), so
    Newton steps from t = 0 come from the left, never overshoot, and end at the exact zero after
    finitely many: each but the last drops a term. A row of size zero is used by none.
    """
    n = usage.shape[0]
    above = np.empty(n, np.int64)  # the terms that still count
    for i in range(n):
        row = usage[i]
        if sizes[i] <= 0.0:
            row[:] = 0.0
            continue
        own, unit = row[i], 1.0 / sizes[i]
        count = 0
        for j in range(n):
            if row[j] > 0.0 and j != i:
                above[count] = j
                count += 1
        t = 0.0
        while True:
            slope, value = 1.0, own
            for place in range(count):
                j = above[place]
                cap = sizes[j] * unit
                slope += cap * cap
                value += cap * row[j]
            t = max(t, value / slope)
            left = 0
            for place in range(count):
                j = above[place]
                if row[j] > sizes[j] * unit * t:
                    above[left] = j
                    left += 1
            if left == count or t >= 1.0:
                break
            count = left
        t = min(t, 1.0)
        for j in range(n):
            row[j] = min(max(row[j], 0.0), sizes[j] * unit * t)
        row[i] = t
