"""Fits of several numbers of components, each started from the last, that may leave entries out.

They only compare numbers: a few cheap iterations take the place of the solvers of `methods`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Loss = Literal["least-squares", "poisson"]


@dataclass(frozen=True)
class Settings:
    """Numbers of the iterations; the experiments are in `benchmarks/recovery/choose_rank.py`."""

    # Fits stop when five iterations gain less than this share.
    tol: float = 1e-3
    max_iter: int = 200
    # Share of the product of the margins mixed into predicted counts: a count where the fit has a
    # zero must not cost an infinite deviance.
    smoothing: float = 0.01
    drawn: float = 0.05  # strength of the mean share in weights of rows with hidden counts


SETTINGS = Settings()


class Job(NamedTuple):
    """Rows, which of their entries are fitted, and which are used to judge the error."""

    rows: NDArray[np.intp]
    fitted: Mask
    judged: Mask


def fit_all(
    values: Floats,
    jobs: Sequence[Job],
    ranks: Sequence[int],
    loss: Loss,
    progress: Callable[[int, int], object] | None,
) -> tuple[list[list[Floats]], Floats]:
    """Fit every job with every number, jobs in parallel; return the components and the errors."""
    components: list[list[Floats]] = [[] for _ in jobs]
    errors, done = np.empty((len(jobs), len(ranks))), [0]

    def fit(which: slice) -> None:
        rows, fitted, judged = jobs[which.start]
        base = independent(values[rows], fitted)
        for place, (weights, found) in enumerate(nested_fits(values[rows], fitted, ranks, loss)):
            components[which.start].append(found)
            errors[which.start, place] = _error(values[rows], weights @ found, base, judged, loss)
            done[0] += 1
            if progress is not None:
                progress(done[0], len(jobs) * len(ranks))

    for_row_slices(fit, len(jobs), slice_rows=1)
    return components, errors


def nested_fits(
    values: Floats, mask: Mask, ranks: Sequence[int], loss: Loss
) -> Iterator[tuple[Floats, Floats]]:
    """Yield weights and components of each number, each started from those of the last.

    Entries outside the mask are not seen. With the least squares loss they are imputed by the
    product before every iteration of HALS, with the Poisson loss the multiplicative updates leave
    them out; neither iteration raises the loss of the entries that are seen.
    """
    n, d = values.shape
    weights, components = np.empty((n, 0)), np.empty((0, d))
    sizes = np.ones((n, 1))
    if loss == "poisson":  # residuals of comparable size: large counts vary more
        sizes = np.sqrt(np.maximum(np.where(mask, values, 0.0).sum(axis=1, keepdims=True), 1.0))
    for k in ranks:
        while len(components) < k:
            left = np.where(mask, values - weights @ components, 0.0) / sizes
            column, row = _leading_pair(left)
            weights = np.column_stack([weights, sizes[:, 0] * column])
            components = np.vstack([components, row])
        improve = _hals_iteration if loss == "least-squares" else _poisson_iteration
        last = np.inf
        for number in range(SETTINGS.max_iter):
            weights, components = improve(values, mask, weights, components)
            if number % 5 == 4:
                level = _loss(values, weights @ components, mask, loss)
                if last - level <= SETTINGS.tol * level:
                    break
                last = level
        yield weights, components


def _leading_pair(left: Floats) -> tuple[Floats, Floats]:
    """Return the positive column and row that explain most of a residual."""
    positive = np.maximum(left, 0.0)
    row = positive[np.argmax(np.einsum("ij,ij->i", positive, positive))]
    if not row.any():
        return np.zeros(len(left)), np.full(left.shape[1], 1e-12)
    for _ in range(10):
        column = np.maximum(left @ row, 0.0)
        row = np.maximum(left.T @ column, 0.0)
        if not row.any():
            return np.zeros(len(left)), positive.mean(axis=0) + 1e-12
        row /= np.linalg.norm(row)
    column = np.maximum(left @ row, 0.0)
    # Multiplicative updates cannot leave zero.
    scale = np.sqrt(np.linalg.norm(column))
    return (column + 1e-2 * column.mean()) / max(scale, 1e-300), (row + 1e-2 * row.mean()) * scale


def _hals_iteration(
    values: Floats, mask: Mask, weights: Floats, components: Floats
) -> tuple[Floats, Floats]:
    complete = bool(mask.all())
    full = values if complete else np.where(mask, values, weights @ components)
    weights = _coordinate_sweep(weights, full @ components.T, components @ components.T)
    full = values if complete else np.where(mask, values, weights @ components)
    features = _coordinate_sweep(components.T, full.T @ weights, weights.T @ weights)
    return weights, np.ascontiguousarray(features.T)


def _coordinate_sweep(factor: Floats, pull: Floats, gram: Floats) -> Floats:
    """Solve for one column after the other, the others fixed (HALS)."""
    factor = factor.copy()
    for j in np.flatnonzero(np.diag(gram) > 0):
        step = (pull[:, j] - factor @ gram[:, j]) / gram[j, j]
        factor[:, j] = np.maximum(factor[:, j] + step, 0.0)
    return factor


def _poisson_iteration(
    values: Floats, mask: Mask, weights: Floats, components: Floats
) -> tuple[Floats, Floats]:
    """Make one EM step; with hidden entries, shrink weights towards the mean shares.

    Otherwise a row whose entry in the main column of a component is hidden could have any weight of
    it, and would predict any count there.
    """
    seen = mask.astype(np.float64)
    tiny = np.finfo(np.float64).tiny
    sums = np.maximum(components.sum(axis=1), tiny)
    weights, components = weights * sums, components / sums[:, None]
    drawn = 0.0 if mask.all() else SETTINGS.drawn
    totals = np.maximum(weights.sum(axis=1, keepdims=True), tiny)
    prior = drawn * totals * (weights / totals).mean(axis=0)

    def ratio() -> Floats:
        return np.asarray(seen * values / np.maximum(weights @ components, tiny))

    pulled = weights * (ratio() @ components.T) + prior
    weights = pulled / np.maximum(seen @ components.T + drawn, tiny)
    components = components * (weights.T @ ratio()) / np.maximum(weights.T @ seen, tiny)
    return weights, components


def _loss(values: Floats, means: Floats, judged: Mask, loss: Loss) -> float:
    """Return the sum of squares, or of x log(x / m) - x + m, over the judged entries."""
    if loss == "least-squares":
        return float(np.sum((values - means) ** 2, where=judged))
    logs = np.log(np.maximum(values, 1e-300) / np.maximum(means, 1e-300))
    return float(np.sum(values * logs - values + means, where=judged))


def _error(values: Floats, product: Floats, base: Floats, judged: Mask, loss: Loss) -> float:
    """Return the held-out error relative to the norm of the entries or the deviance of `base`."""
    if loss == "least-squares":
        total = _loss(values, np.zeros_like(values), judged, loss)
        return float(np.sqrt(_loss(values, product, judged, loss) / total)) if total > 0 else 0.0
    # Rows have equal weight, so that a few rows with most of the counts do not decide.
    sizes = np.maximum(values.sum(axis=1, keepdims=True), 1.0)
    mixed = (1 - SETTINGS.smoothing) * product + SETTINGS.smoothing * base
    total = _loss(values / sizes, base / sizes, judged, loss)
    return _loss(values / sizes, mixed / sizes, judged, loss) / total if total > 0 else 0.0


def independent(values: Floats, mask: Mask) -> Floats:
    """Return the product of the margins, scaled for entries that are not seen."""
    values = np.where(mask, values, 0.0)
    rows = values.sum(axis=1) / np.maximum(mask.mean(axis=1), 1e-12)
    columns = values.sum(axis=0) / np.maximum(mask.mean(axis=0), 1e-12)
    return np.outer(rows, columns) / max(float(np.sqrt(rows.sum() * columns.sum())), 1e-300) + 1e-12
