"""One half of an iteration: better weights or components, from all or from observed entries.

Rows are improved by HALS or solved by ANLS (`RowSolver`). Here their normal equations are formed,
with penalties (`linalg.nnls`) and with known components that stay as they are. Data
without missing entries share one Gram matrix over all rows (`AllEntries`); with missing entries
every row has its own (`ObservedEntries`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import available_threads, computed_once, for_row_slices
from provenmf.data import Blocks, Rows
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.compiled import inner_njit, njit
from provenmf.linalg.nnls import (
    Constraint,
    Penalties,
    Penalty,
    encoder,
    nonnegative_least_squares,
    simplex_least_squares,
)
from provenmf.linalg.norms import squared_frobenius_norm, squared_residual_rows
from provenmf.linalg.observed import (
    best_observed_rows,
    better_observed_rows,
    residual_entries,
    weights_of_observed,
)
from provenmf.linalg.products import product, transposed_product
from provenmf.methods.alternating.unimodal import sweep_unimodal_in_place

Array = NDArray[np.floating]
# Squared errors below this many units of the data's precision lost too many digits in products:
# they are measured on the data.
CANCELLED = 1e4


@dataclass(frozen=True)
class RowSolver:
    """Improve rows of a factor with the other factor fixed.

    HALS makes a number of `sweeps` over their coordinates; ANLS (None) solves them, and the
    previous rows only tell which entries are probably positive. `closed` rows sum to one;
    `unimodal` columns have one maximum, and are swept by either method.
    """

    sweeps: int | None
    closed: bool = False
    unimodal: bool = False

    def rows(self, gram: Array, cross: Array, start: Array) -> Array:
        """Return better rows (m, k) that share gram (k, k), from cross (m, k) and start (m, k)."""
        if self.sweeps is None:
            solve = simplex_least_squares if self.closed else nonnegative_least_squares
            return solve(gram, cross, start=start if start.any() else None)
        if self.unimodal:
            swept = start.astype(np.float64)
            sweep_unimodal_in_place(double(gram), double(cross), swept, self.sweeps)
            return swept.astype(start.dtype)
        rows_gram, new, sweeps = gram.astype(cross.dtype), start.copy(), self.sweeps
        for_row_slices(
            lambda rows: descend_coordinates_in_place(rows_gram, cross[rows], new[rows], sweeps),
            len(new),
            slice_rows=max(256, -(-len(new) // (4 * available_threads()))),
        )
        return new

    def observed_rows(
        self, entries: sp.csr_array, features: Array, start: Array, known: int, penalty: Penalty
    ) -> Array:
        """Return better rows from observed entries (m, d); the first `known` columns stay."""
        if self.sweeps is None:
            return best_observed_rows(entries, features, start, known, penalty)
        return better_observed_rows(entries, features, start, known, penalty, self.sweeps)


class Features(NamedTuple):
    """New features (d, k), the relative error with them, and what an iteration must not raise.

    `level` is sqrt(2 objective) / ||X||_F: the relative error itself where there is no penalty.
    """

    features: Array
    error: float
    level: float


class Steps(ABC):
    """The data as the alternating loop sees them.

    Parameters
    ----------
    blocks : the data.
    for_weights, for_components : the method.
    penalties : on both factors.
    known : how many components, the first ones, are not changed.
    """

    def __init__(
        self,
        blocks: Blocks,
        for_weights: RowSolver,
        for_components: RowSolver,
        *,
        penalties: Penalties,
        known: int = 0,
    ) -> None:
        self.blocks, self.known = blocks, known
        self.for_weights, self.for_components = for_weights, for_components
        self.on_weights = penalties.on_weights(blocks.n_columns)
        self.on_components = penalties.on_components(blocks.n_rows)
        self.squared_norm = float(blocks.map_reduce(squared_frobenius_norm))

    @property
    def penalised(self) -> bool:
        """Whether the objective is more than the squared error."""
        return bool(self.on_weights) or bool(self.on_components)

    def best_weights(self, components: Array) -> Rows:
        """Return weights that minimise the objective for these components."""
        dtype = self.blocks.dtype
        constraint: Constraint = "simplex" if self.for_weights.closed else "nonnegative"
        return self.blocks.keep(encoder(components, dtype, constraint, self.on_weights))

    def placed(self, weights: Array) -> Rows:
        """Store weights beside the rows of the data."""
        return self.blocks.place(np.ascontiguousarray(weights, dtype=self.blocks.dtype))

    @abstractmethod
    def better_weights(self, start: Rows, features: Array) -> Rows:
        """Improve every row of the weights for the given features, in one pass."""

    @abstractmethod
    def better_features(self, weights: Rows, start: Array) -> Features:
        """Improve the features for the given weights, in one pass, and measure them."""

    def _judged(self, squared_error: float, weights: Rows, features: Array) -> Features:
        if self.squared_norm == 0.0:
            return Features(features, 0.0, 0.0)
        error = math.sqrt(max(squared_error, 0.0) / self.squared_norm)
        if not self.penalised:
            return Features(features, error, error)
        penalty = float(weights.sum(self.on_weights.value)) + self.on_components.value(features)
        return Features(features, error, math.sqrt(error**2 + 2 * penalty / self.squared_norm))


class AllEntries(Steps):
    """Every entry is observed: one Gram matrix for all rows of a factor."""

    def better_weights(self, start: Rows, features: Array) -> Rows:
        """Improve the weights in one pass over the rows."""
        gram = double(features.T @ features)

        def improved(block: Array, rows: Array) -> Array:
            normal = self.on_weights.normal_equations(gram, product(block, features))
            return self.for_weights.rows(*normal, rows)

        return self.blocks.keep(improved, start)

    def _products(self, weights: Rows) -> tuple[Array, NDArray[np.float64]]:
        """Return X' W (d, k) and W' W."""
        if self._columns is not None:
            gram = weights.sum(lambda rows: double(rows.T @ rows))
            return product(self._columns, weights.array()), gram

        def of_block(block: Array, rows: Array) -> tuple[Array, NDArray[np.float64]]:
            return transposed_product(block, rows), double(rows.T @ rows)

        cross, gram = self.blocks.map_reduce(of_block, weights)
        return cross, gram

    @computed_once
    def _columns(self) -> sp.csr_array | None:
        """Return a transposed copy of sparse data in memory, for faster products."""
        if not (self.blocks.is_sparse and self.blocks.in_memory):
            return None
        return sp.csr_array(self.blocks.everything().T)

    def better_features(self, weights: Rows, start: Array) -> Features:
        """Improve the features with one product with the transposed data."""
        cross, gram = self._products(weights)
        features = self._improved(gram, cross, start)
        explained = 2.0 * np.einsum("ij,ij->", cross, features, dtype=np.float64)
        explained -= np.vdot(gram, double(features.T @ features))
        squared_error = self.squared_norm - explained
        precision = float(np.finfo(self.blocks.dtype).eps)
        if squared_error < CANCELLED * precision * self.squared_norm:
            squared_error = self._measured(weights, features)
        return self._judged(squared_error, weights, features)

    def _measured(self, weights: Rows, features: Array) -> float:
        """Return the squared error from the residual itself, for fits that are nearly exact.

        Without them the order of the sums, which differs between dense and sparse data, would
        decide when to stop.
        """
        components = np.ascontiguousarray(features.T)

        def squared(block: Array, rows: Array) -> float:
            return float(squared_residual_rows(block, rows, components).sum())

        return float(self.blocks.map_reduce(squared, weights))

    def _improved(self, gram: Array, cross: Array, start: Array) -> Array:
        known = self.known
        if known == 0:
            normal = self.on_components.normal_equations(gram, cross)
            return self.for_components.rows(*normal, start)
        features = start.copy()
        if known < len(gram):
            rest = cross[:, known:] - (start[:, :known] @ gram[:known, known:]).astype(cross.dtype)
            normal = self.on_components.normal_equations(gram[known:, known:], rest)
            free = np.ascontiguousarray(start[:, known:])
            features[:, known:] = self.for_components.rows(normal[0], normal[1], free)
        return features


class ObservedEntries(Steps):
    """Some entries are missing: the sums of every row are over its observed entries."""

    blocks: ObservedBlocks

    def best_weights(self, components: Array) -> Rows:
        """Return weights that minimise the objective for these components."""
        return self.blocks.place(
            weights_of_observed(self.blocks.entries, components, self.on_weights)
        )

    def better_weights(self, start: Rows, features: Array) -> Rows:
        """Improve the weights in one pass over the rows."""
        return self.blocks.place(
            self.for_weights.observed_rows(
                self.blocks.entries, features, start.array(), 0, self.on_weights
            )
        )

    def better_features(self, weights: Rows, start: Array) -> Features:
        """Improve the features in one pass over the columns."""
        columns, plain = self.blocks.by_column, np.ascontiguousarray(weights.array())
        features = start
        if self.known < start.shape[1]:
            features = self.for_components.observed_rows(
                columns, plain, start, self.known, self.on_components
            )
        left = residual_entries(columns, features, plain)
        return self._judged(squared_frobenius_norm(left), weights, features)


def look_ahead(new: Array, last: Array, length: float) -> Array:
    """Return new + length (new - last), kept nonnegative (AG19, Eq. (4))."""
    if length == 0.0:
        return new
    return np.maximum(new + new.dtype.type(length) * (new - last), 0)


def features_ahead(new: Array, last: Array, length: float) -> Array:
    """Extrapolate the new features, except for components that would become zero.

    Where a penalty shrinks a component to less than 1e-3 of itself, what is left is rounding, and
    the next weights would be made of that.
    """
    ahead = look_ahead(new, last, length)
    extinguished = ahead.max(axis=0) <= 1e-3 * new.max(axis=0)
    return np.where(extinguished, new, ahead) if extinguished.any() else ahead


def double(matrix: Array) -> NDArray[np.float64]:
    """Return a small matrix in float64, whatever the data's precision."""
    return matrix.astype(np.float64, copy=False)


# Rows that are swept together: their weights and products stay in the innermost cache.
TILE_ROWS = 64


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def descend_coordinates_in_place(gram: Array, cross: Array, weights: Array, sweeps: int) -> None:
    """Lower 1/2 w G w' - w c' over w >= 0 for every row of ``weights``.

    Rows are swept in tiles, kept transposed, so that a coordinate of all of them is one vector.
    """
    n, k = weights.shape
    tile = np.empty((k, TILE_ROWS), dtype=weights.dtype)
    products = np.empty((k, TILE_ROWS), dtype=weights.dtype)
    descent = np.empty(TILE_ROWS, dtype=weights.dtype)
    for start in range(0, n, TILE_ROWS):
        rows = min(TILE_ROWS, n - start)
        for r in range(rows):
            for j in range(k):
                tile[j, r] = weights[start + r, j]
                products[j, r] = cross[start + r, j]
        for _ in range(sweeps):
            for j in range(k):
                if gram[j, j] > 0.0:
                    descent[:rows] = products[j, :rows]
                    subtract_combination_in_place(gram[j], tile, rows, descent)
                    move_in_place(descent, gram[j, j], rows, tile[j])
        for r in range(rows):
            for j in range(k):
                weights[start + r, j] = tile[j, r]


@inner_njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def move_in_place(descent: Array, curvature: float, rows: int, coordinate: Array) -> None:
    """Set one coordinate of every row to its best nonnegative value."""
    inverse = descent.dtype.type(1.0 / curvature)
    for r in range(rows):
        coordinate[r] = max(coordinate[r] + descent[r] * inverse, 0.0)


@inner_njit(fastmath={"reassoc", "contract", "nsz"})
def subtract_combination_in_place(
    coefficients: Array, vectors: Array, length: int, out: Array
) -> None:
    """Subtract coefficients @ vectors, four vectors at a time to spare loads and stores of out."""
    k = len(coefficients)
    fours = k - k % 4
    for i in range(0, fours, 4):
        a, b = coefficients[i], coefficients[i + 1]
        c, d = coefficients[i + 2], coefficients[i + 3]
        for r in range(length):
            out[r] -= (
                a * vectors[i, r]
                + b * vectors[i + 1, r]
                + c * vectors[i + 2, r]
                + d * vectors[i + 3, r]
            )
    for i in range(fours, k):
        for r in range(length):
            out[r] -= coefficients[i] * vectors[i, r]
