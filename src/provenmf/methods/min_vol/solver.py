"""Minimum-volume NMF: among the factorizations that fit, the one whose components span the least.

    min  misfit(X, WC) / size(X) + penalty log det(CC' + delta I)   over W, C >= 0

The misfit is ||X - WC||_F^2 with size ||X||_F^2, or the Kullback-Leibler divergence with size
sum X. Either the components sum to one each (constraint "nonnegative") or the weights of each row
do ("simplex"); without one of these the volume would shrink by scaling alone.

    Fu15       here                        Leplat19, Leplat20
    x_l, s_l   rows of data, of weights    columns of X, H
    A          components transposed       W
    lambda     penalty * size              lambda

Fu15: Fu, Ma, Huang & Sidiropoulos 2015, "Blind separation of quasi-stationary sources: exploiting
convex geometry in covariance domain" (weights that are sufficiently scattered make the components
of least volume unique). Leplat19: Leplat, Ang & Gillis 2019, "Minimum-volume rank-deficient
nonnegative matrix factorizations" (log det, its majorization). Leplat20: Leplat, Gillis & Ang 2020,
"Blind audio source separation with minimum-volume beta-divergence NMF" (components of unit sum).

log det is concave, so that log det(CC' + delta I) <= tr(Y CC') + const with Y the inverse at the
components at hand, and the step on the components is a convex problem. For least squares the
weights are solved exactly and the components by fast gradient steps; for the divergence the weights
take Newton sweeps and the components one majorization step.

The penalty follows a falling path, each fit started from the last. Had the true components been
known, the misfit would exceed the least one by kd of the nd - k(n + d) degrees of freedom of the
residual on average. So of all fits on the path that are this near to the least misfit, the one with
the largest penalty is taken: the least volume that the noise allows. Differs: Leplat19 choose the
penalty by hand.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Rows
from provenmf.linalg.nnls import Constraint, encoder
from provenmf.linalg.norms import squared_frobenius_norm
from provenmf.linalg.products import transposed_product
from provenmf.linalg.storage import as_dense
from provenmf.methods.alternating.starts import Init, start_components
from provenmf.methods.poisson.counts import as_counts, improve_rows
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason

Floats = NDArray[np.float64]
Loss = Literal["least-squares", "poisson"]


@dataclass(frozen=True)
class Settings:
    """Settings of the path; angles hardly change at half or twice their values."""

    delta: float = 0.1  # share of the squared length of the mean row; keeps log det finite
    first: float = 0.25  # share of the start's misfit that the first penalty has for a component
    least_first: float = 1e-3  # misfit of the start, at the least, as a share of the data
    shrink: float = 10**-0.25  # from one penalty to the next
    most_penalties: int = 40
    each: int = 40  # iterations for one penalty of the path
    path_tol: float = 100.0  # times `tol`, to end them early
    gradient_steps: int = 10  # on the components for one pass over the rows
    sweeps: int = 2  # over the weights, for the divergence
    exact: float = 1e-9  # misfit as a share of the data from which nothing is left to explain
    ended: float = 0.02  # share of the allowance that four penalties must gain to go on


SETTINGS = Settings()


class Sums(NamedTuple):
    """Result of a pass over the rows: the misfit as a share of the data, and sums over rows."""

    misfit: float
    cross: Floats  # (k, d): W'X, or W'(X / WC)
    gram: Floats  # (k, k): W'W, or the sums of the weights on the diagonal


class Squares:
    """||X - WC||_F^2 / ||X||_F^2."""

    def __init__(self, blocks: Blocks, constraint: Constraint) -> None:
        self.blocks, self.constraint = blocks, constraint
        self.size = float(blocks.map_reduce(squared_frobenius_norm)) or 1.0

    def feasible(self, components: Floats) -> Floats:
        """Return the nearest components that satisfy the constraint."""
        if self.constraint == "nonnegative":
            return onto_simplex(components)
        return np.maximum(components, 0.0)

    def sums(self, components: Floats) -> Sums:
        """Solve for the weights of every row."""
        solve = encoder(components, np.dtype(np.float64), self.constraint)

        def of_block(block: Block) -> tuple[Floats, Floats]:
            weights = solve(block)
            return np.asarray(transposed_product(block, weights)).T, weights.T @ weights

        cross, gram = self.blocks.map_reduce(of_block)
        explained = 2 * np.vdot(cross, components) - np.vdot(gram, components @ components.T)
        misfit = max(1.0 - float(explained) / self.size, 0.0)
        return Sums(misfit, cross / self.size, gram / self.size)

    def step(self, components: Floats, found: Sums, curvature: Floats) -> Floats:
        """Make fast gradient steps on tr(C'(gram + curvature)C) - 2 tr(C'cross)."""
        hessian = found.gram + curvature
        length = 1.0 / max(float(np.linalg.eigvalsh(hessian)[-1]), 1e-300)
        ahead, last, momentum = components, components, 1.0
        for _ in range(SETTINGS.gradient_steps):
            new = self.feasible(ahead - length * (hessian @ ahead - found.cross))
            momentum, before = (1 + np.sqrt(1 + 4 * momentum**2)) / 2, momentum
            ahead, last = new + (before - 1) / momentum * (new - last), new
        return last


class Divergence:
    """D(X || WC) / sum X, for components that sum to one."""

    def __init__(self, blocks: Blocks, components: Floats) -> None:
        self.blocks = blocks
        self.size = float(blocks.map_reduce(lambda block: as_counts(block).sum())) or 1.0
        self.floor = 1e-10 / blocks.n_columns
        k = len(components)
        self.weights: Rows = blocks.keep(
            lambda block: np.repeat(np.asarray(block.sum(axis=1)).reshape(-1, 1) / k, k, axis=1)
        )

    def feasible(self, components: Floats) -> Floats:
        """Return components above the floor that sum to one."""
        return _of_unit_sum(np.maximum(components, self.floor))

    def sums(self, components: Floats) -> Sums:
        """Sweep over the weights of every row, starting from the last ones."""
        features = np.ascontiguousarray(components.T)

        def of_block(block: Block, start: Floats) -> tuple[tuple[float, Floats, Floats], Floats]:
            counts, floor = as_counts(block), self.floor
            start = np.maximum(start, floor)
            found = improve_rows(counts, features, start, sweeps=SETTINGS.sweeps, floor=floor)
            weights, dense = found.weights, as_dense(counts)
            means = weights @ components
            ratios = np.divide(dense, means, out=np.zeros_like(means), where=dense > 0)
            sums = float(found.divergences.sum()), weights.T @ ratios, weights.sum(axis=0)
            return sums, weights

        (total, pull, sums), self.weights = self.blocks.sum_and_keep(of_block, self.weights)
        misfit = max(float(total), 0.0) / self.size  # rounding may leave less than nothing
        return Sums(misfit, pull / self.size, np.diag(sums) / self.size)

    def step(self, components: Floats, found: Sums, curvature: Floats) -> Floats:
        """Minimize a separable majorant on the simplex (Leplat20, Section III).

        With a = c W'(X/WC) and D >= Y diagonal, each entry minimizes s c - a log c + 2 y c +
        D (c - c0)^2 + v c: a quadratic equation, whose multiplier v makes a component sum to one.
        """
        pulled = components * found.cross
        diagonal = np.abs(curvature).sum(axis=1)[:, None]
        linear = (
            np.diag(found.gram)[:, None] + 2 * (curvature - np.diag(diagonal[:, 0])) @ components
        )
        low = -linear.max(axis=1) - 2 * diagonal[:, 0] - 1.0
        high = pulled.sum(axis=1) - linear.min(axis=1) + 1.0
        for _ in range(60):
            middle = (low + high) / 2
            sums = _positive_root(2 * diagonal, linear + middle[:, None], pulled).sum(axis=1)
            low, high = np.where(sums > 1, middle, low), np.where(sums > 1, high, middle)
        return self.feasible(_positive_root(2 * diagonal, linear + high[:, None], pulled))


def _positive_root(square: Floats, linear: Floats, constant: Floats) -> Floats:
    """Solve square c^2 + linear c = constant for c >= 0, without cancellation."""
    root = np.sqrt(linear**2 + 4 * square * constant)
    found = np.where(
        linear > 0,
        2 * constant / np.maximum(linear + root, 1e-300),
        (root - linear) / np.maximum(2 * square, 1e-300),
    )
    return np.asarray(found)


@dataclass
class Path:
    """State between two iterations."""

    components: Floats
    ahead: Floats
    penalty: float
    objective: float = np.inf
    length: float = 0.5  # of the extrapolation
    since: int = 0  # iterations with this penalty
    ending: bool = False
    penalties: list[float] = field(default_factory=list)
    misfits: list[float] = field(default_factory=list)
    found: list[Floats] = field(default_factory=list)

    def go_on(self, penalty: float) -> None:
        """Continue from the same components with another penalty."""
        self.penalty, self.objective, self.since, self.length = penalty, np.inf, 0, 0.5
        self.ahead = self.components


def min_vol(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    loss: Loss = "least-squares",
    constraint: Constraint = "nonnegative",
    penalty: float | None = None,
    init: Init = "spa",
    max_iter: int = 3000,
    tol: float = 1e-6,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize with components of small volume.

    Parameters
    ----------
    penalty : weight of the volume in the objective above; None chooses it from the data.
    tol : stop when an iteration lowers the objective by less than this share of the misfit.

    Returns
    -------
    Solution whose trace has the `misfit`, the `volume` (log det) and the `penalty` of iterations.
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    run = Run(max_iter, callback=callback, verbose=verbose, name="MinVol")
    start = start_components(blocks, n_components, init, rng).astype(np.float64)
    problem: Squares | Divergence
    if loss == "poisson":
        start = _of_unit_sum(_of_unit_sum(start) + 0.01 / blocks.n_columns)
        problem = Divergence(blocks, start)
    else:
        start = start if constraint == "simplex" else _of_unit_sum(start)
        problem = Squares(blocks, constraint)
    delta = SETTINGS.delta * _mean_row_squared(blocks, constraint)
    first = max(problem.sums(start).misfit, SETTINGS.least_first) * SETTINGS.first / len(start)
    path = Path(start, start, first if penalty is None else penalty, ending=penalty is not None)
    if run.saved is not None:
        path = Path(**run.saved["path"])
        if isinstance(problem, Divergence):
            problem.weights = blocks.place(run.saved["weights"])
    run.keeps(lambda: _kept(path, problem))
    for _ in run:
        sums = problem.sums(path.ahead)
        inverse, volume = _volume(path.ahead, delta)
        objective = sums.misfit + path.penalty * volume
        if objective > path.objective:  # the extrapolation went too far: a plain step next
            path.ahead, path.length, path.objective = path.components, path.length / 1.5, np.inf
        else:
            new = problem.step(path.ahead, sums, path.penalty * inverse)
            gained = path.objective - objective
            path.objective = objective
            path.ahead = problem.feasible(new + path.length * (new - path.components))
            path.components, path.length = new, min(1.05 * path.length, 0.98)
            strictly = path.ending and sums.misfit > SETTINGS.exact
            share = tol if strictly else SETTINGS.path_tol * tol
            settled = path.since > 2 and gained <= share * sums.misfit
            if path.ending and settled:
                run.stop(StopReason.CONVERGED)
            elif not path.ending and (settled or path.since >= SETTINGS.each):
                advance(path, sums.misfit, blocks.shape)
        path.since += 1
        run.record(misfit=sums.misfit, volume=volume, penalty=path.penalty)
    chosen = f"penalty chosen from the data: {path.penalty:.3g}"
    return Solution(
        components=path.components.astype(blocks.dtype),
        trace=run.trace,
        stop_reason=run.stop_reason,
        notes=(chosen,) if penalty is None else (),
    )


def advance(path: Path, misfit: float, shape: tuple[int, int]) -> None:
    """Store the fit with this penalty and go on to the next, at the end to the chosen one."""
    path.penalties.append(path.penalty)
    path.misfits.append(misfit)
    path.found.append(path.components)
    allowance = allowed_excess(len(path.components), shape)
    gaining = len(path.misfits) < 9 or (
        path.misfits[-5] - misfit > SETTINGS.ended * allowance * misfit
    )
    if misfit > SETTINGS.exact and gaining and len(path.misfits) < SETTINGS.most_penalties:
        path.go_on(path.penalty * SETTINGS.shrink)
        return
    least = min(path.misfits)
    chosen = next(i for i, m in enumerate(path.misfits) if m <= (1 + allowance) * least)
    path.components, path.ending = path.found[chosen], True
    path.go_on(path.penalties[chosen])


def allowed_excess(k: int, shape: tuple[int, int]) -> float:
    """Return by what share the misfit of the true components exceeds the least one, on average."""
    n, d = shape
    return k * d / max(n * d - k * (n + d), k * d)


def onto_simplex(rows: Floats) -> Floats:
    """Project each row onto the vectors >= 0 that sum to one."""
    k, d = rows.shape
    falling = -np.sort(-rows, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    last = np.count_nonzero(falling * np.arange(1, d + 1) > excess, axis=1)
    threshold = excess[np.arange(k), last - 1] / last
    return np.asarray(np.maximum(rows - threshold[:, None], 0.0))


def _of_unit_sum(rows: Floats) -> Floats:
    sums = rows.sum(axis=1, keepdims=True)
    unit = np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1.0 / rows.shape[1])
    return np.asarray(unit)


def _mean_row_squared(blocks: Blocks, constraint: Constraint) -> float:
    """Return the squared length of the mean row, scaled as the components are."""
    mean = np.asarray(blocks.map_reduce(lambda block: np.asarray(block.sum(axis=0)).ravel()))
    total = float(mean.sum()) if constraint == "nonnegative" else blocks.n_rows
    return float(mean @ mean) / total**2 if mean.any() else 1.0


def _volume(components: Floats, delta: float) -> tuple[Floats, float]:
    """Return the inverse of CC' + delta I and log det of it.

    A delta that underflows beside extreme data is raised to the rounding of CC'.
    """
    gram = components @ components.T
    least = np.finfo(np.float64).eps * float(np.trace(gram)) or np.finfo(np.float64).tiny
    gram += max(delta, least) * np.eye(len(components))
    return np.asarray(np.linalg.inv(gram), dtype=np.float64), float(np.linalg.slogdet(gram)[1])


def _kept(path: Path, problem: Squares | Divergence) -> dict[str, Any]:
    kept: dict[str, Any] = {"path": asdict(path)}
    if isinstance(problem, Divergence):
        kept["weights"] = problem.weights.array()
    return kept
