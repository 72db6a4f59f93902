"""A fit and its one measurement: what every certificate receives.

Nothing here is taken on trust: all comes from the data and the factors. The one pass over the data
(`measure`) happens when the first number is asked for. Its arithmetic is double precision. A dense
block is worked on in slices that stay in the cache, so that the residual is formed and forgotten;
for a sparse block its square is expanded.

Squares of very small or very large data leave the range of numbers. Such data are divided by
`unit`, a power of two; blocks, components and all lengths are then those of the divided data, and
a certificate multiplies by `unit` what it reports in the units of the data. Else `unit` is one.

Arrays (n, k) stay where the rows are (`weight_rows`, `cross`). On a cluster a certificate asks
for sums and maxima over them, and for a few numbers of each row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import computed_once
from provenmf.certificate.singular_values import RankBound, gram_is_formed, least_relative_error
from provenmf.data import Block, Blocks, Part, Rows
from provenmf.data.base import joined
from provenmf.data.door import divided, fingerprint, row_hashes
from provenmf.linalg.hull import Model, nearest_points
from provenmf.linalg.norms import (
    SAFE_LENGTHS,
    absolute_row_sums,
    entry_range,
    power_of_two,
    row_lengths,
    row_sums,
    rows_of_a_slice,
    squared_residual_rows,
)
from provenmf.linalg.products import product, transposed_product
from provenmf.linalg.spectral import GRAM_COLUMNS, gram_of_columns
from provenmf.linalg.storage import as_dense
from provenmf.results import Factorization

Floats = NDArray[np.float64]
Constraint = Literal["nonnegative", "simplex"]

# Numbers between these have squares and fourth powers well inside the range.
SAFE = (2.0**-100, 2.0**100)
ON_THE_SIMPLEX = 1e-12  # sums of weights this near to one are one
ON_IT_IN_SINGLE = 1e-5  # and so are these, if all were rounded to single precision


@dataclass(frozen=True)
class Measurement:
    """Sums and extremes of one pass, for data X (n, d), weights W (n, k) and components C (k, d).

    lengths, sums, residuals : (n,), ‖x‖, Σ x and ‖x − wC‖ of each row; largest : max |x_ij|;
        lowest : the smallest entry, or zero.
    cross : XCᵀ (n, k), left where the rows are; weights_data : WᵀX (k, d); gram : XᵀX or None;
        hashes : digests of the rows.
    """

    lengths: Floats
    sums: Floats
    residuals: Floats
    largest: float
    lowest: float
    hashes: bytes
    cross: Rows
    weights_data: Floats
    gram: Floats | None


def measure(
    blocks: Blocks,
    weights: Rows,
    components: Floats,
    *,
    products: bool,
    gram: bool,
    hashed: bool,
) -> Measurement:
    """Measure in one pass; `products` asks for cross and weights_data, `gram` for XᵀX."""

    def of_block(block: Block, w: Floats) -> tuple[tuple[Any, ...], Part]:
        rows = _sparse_rows if sp.issparse(block) else _dense_rows
        with np.errstate(over="ignore", invalid="ignore"):
            found, cross, weights_data = rows(block, w, components, products)
            matrix = [gram_of_columns(block)] if gram else []
            hashes = row_hashes(block) if hashed else b""
            bounds = np.array(entry_range(block))
            return (hashes, weights_data, *matrix), (found.T, bounds, cross)

    sums, kept = blocks.sum_and_keep(of_block, weights)
    hashes, weights_data, *matrix = sums
    ends: list[Floats] = []

    def by_row() -> Iterator[Floats]:
        for found, bounds in kept.each(itemgetter(0, 1)):
            ends.append(bounds)
            yield found

    lengths, summed, residuals = np.ascontiguousarray(joined(blocks.n_rows, by_row()).T)
    lowest, highest = min(0.0, np.min(ends)), max(0.0, np.max(ends))
    return Measurement(
        lengths=lengths,
        sums=summed,
        residuals=residuals,
        largest=float(max(highest, -lowest)),
        lowest=float(lowest),
        hashes=hashes,
        cross=kept.map(itemgetter(2)),
        weights_data=weights_data,
        gram=matrix[0] if matrix else None,
    )


def _dense_rows(
    block: NDArray[np.floating], weights: Floats, components: Floats, products: bool
) -> tuple[Floats, Floats, Floats]:
    """Return (lengths, sums, residuals), XCᵀ and WᵀX of a dense block."""
    by_row = np.empty((3, len(block)))
    cross = np.empty(weights.shape if products else (0, len(components)))
    weights_data = np.zeros(components.shape)
    step = rows_of_a_slice(block.shape[1])
    for start in range(0, len(block), step):
        part = slice(start, start + step)
        rows, w = block[part].astype(np.float64, copy=False), weights[part]
        by_row[0, part], by_row[1, part] = row_lengths(rows), rows.sum(axis=1)
        by_row[2, part] = row_lengths(rows - w @ components)
        if products:
            np.matmul(rows, components.T, out=cross[part])
            weights_data += w.T @ rows
    return by_row, cross, weights_data


def _sparse_rows(
    block: Any, weights: Floats, components: Floats, products: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the same of a sparse block, which no step makes dense."""
    wide = block.astype(np.float64, copy=False)
    residuals = np.sqrt(squared_residual_rows(wide, weights, components))
    by_row = np.stack([row_lengths(wide), row_sums(wide), residuals])
    if not products:
        return by_row, np.empty((0, len(components))), np.zeros(components.shape)
    cross = product(wide, np.ascontiguousarray(components.T))
    return by_row, cross, transposed_product(wide, weights).T


def largest_residual_entries(block: Block, weights: Floats, components: Floats) -> Floats:
    """Return max |x_ij − (wC)_j| of each row of a block, a few rows dense at a time."""
    out = np.empty(block.shape[0])
    step = rows_of_a_slice(block.shape[1])
    for start in range(0, block.shape[0], step):
        part = slice(start, start + step)
        residual = as_dense(block[part]) - weights[part] @ components
        out[part] = np.maximum(residual.max(axis=1), -residual.min(axis=1))
    return out


class Fit:
    """Data, a factorization of them, and everything measured on both.

    Parameters
    ----------
    blocks : the data (n, d).
    factorization : weights (n, k) and components (k, d); nothing else of it is believed.
    constraint : what the weights were to satisfy; "simplex" counts only if they do.
    rows : the weights where the rows are, if that is elsewhere.
    least_squares : whether weights come from least squares under this constraint.
    products : whether one pass should bring the products with the factors and the Gram matrix too;
        without them it is faster, and a certificate that needs them makes another pass.
    full : whether the certificate may take longer than the fit, see `affords`.
    hashed : whether to fingerprint the data, which takes as long as a few passes over them.

    Attributes
    ----------
    given, given_rows, given_components : the data, W and C as the record has them; C in double
        precision.
    """

    def __init__(
        self,
        blocks: Blocks,
        factorization: Factorization,
        constraint: Constraint = "nonnegative",
        *,
        rows: Rows | None = None,
        least_squares: bool = True,
        products: bool = True,
        full: bool = True,
        hashed: bool = True,
    ) -> None:
        self.full, self._hashed = full, hashed
        self.given, self.factorization = blocks, factorization
        self.method, self.n_components = factorization.method, factorization.n_components
        self.given_rows = blocks.place(factorization.weights) if rows is None else rows
        self.given_components: Floats = factorization.components.astype(np.float64, copy=False)
        on_simplex = constraint == "simplex" and all(self.given_rows.each(_on_simplex))
        self.constraint: Constraint = "simplex" if on_simplex else "nonnegative"
        self.least_squares, self._products = least_squares, products

    def affords(self, seconds: float) -> bool:
        """Return whether a statement that takes about `seconds` belongs in this certificate.

        A full certificate affords everything, another one what takes at most as long as the fit,
        or 50 ms. Both times are estimated from sizes and never measured, so that the same data
        have the same certificate on every machine.
        """
        return self.full or seconds <= max(0.05, self._fit_seconds)

    @property
    def _fit_seconds(self) -> float:
        """Estimate what the fit took on one core: passes over the data with a few products."""
        passes = len(self.factorization.trace) + 2
        return 2e-9 * self.given.stored_entries * passes * (1 + self.n_components / 5)

    @property
    def rank_bound_seconds(self) -> float:
        """Estimate what the smaller Gram matrix and the proof of its leading sum take."""
        n, d = self.given.shape
        in_a_row = self.given.stored_entries / max(n, 1)
        gram = 1e-10 * n * in_a_row**2 if d <= n else 1e-10 * n**2 * in_a_row
        return gram * (10 if self.given.is_sparse else 1) + 2e-10 * min(n, d, GRAM_COLUMNS) ** 3

    @computed_once
    def _pass(self) -> tuple[float, Measurement]:
        """Measure the data; outside the safe range, divide them by a unit and repeat."""
        found = self._measured(1.0, self._products, hashed=self._hashed)
        if found.largest == 0 or SAFE[0] <= found.largest <= SAFE[1]:
            return 1.0, found
        unit = float(power_of_two(found.largest))
        return unit, replace(self._measured(unit, self._products), hashes=found.hashes)

    def _measured(self, unit: float, products: bool, *, hashed: bool = False) -> Measurement:
        blocks = self._blocks_in(unit)
        gram = products and gram_is_formed(blocks) and self.affords(self.rank_bound_seconds)
        components = self._components_in(unit)
        return measure(
            blocks, self.weight_rows, components, products=products, gram=gram, hashed=hashed
        )

    @computed_once
    def _complete(self) -> Measurement:
        return self._pass[1] if self._products else self._measured(self.unit, True)

    def _blocks_in(self, unit: float) -> Blocks:
        return self.given if unit == 1.0 else divided(self.given, unit)

    @computed_once
    def _sizes(self) -> Floats | None:
        """Return divisors of weights outside the safe range; they multiply the components."""
        peaks = np.max(list(self.given_rows.each(_largest_of_columns)), axis=0)
        risky = (peaks > 0) & ((peaks < SAFE[0]) | (peaks > SAFE[1]))
        if not risky.any():
            return None
        return np.where(risky, power_of_two(np.where(risky, peaks, 1.0)), 1.0)

    def _components_in(self, unit: float) -> Floats:
        """Return the components of the divided data, in double precision."""
        components, sizes = self.given_components, self._sizes
        if sizes is not None:
            return components * (1.0 / unit) * sizes[:, None]
        return components if unit == 1.0 else components * (1.0 / unit)

    @property
    def unit(self) -> float:
        """The power of two by which the data are divided here; one unless they are extreme."""
        return self._pass[0]

    @computed_once
    def blocks(self) -> Blocks:
        """Return the data, divided by `unit`."""
        return self._blocks_in(self.unit)

    @computed_once
    def weights(self) -> Floats:
        """Return W (n, k) in double precision, in this process."""
        given = self.factorization.weights.astype(np.float64, copy=False)
        return given if self._sizes is None else given / self._sizes

    @computed_once
    def weight_rows(self) -> Rows:
        """Return W in double precision, stored with the rows of the data."""
        sizes = self._sizes
        if sizes is None and self.given.dtype == np.float64:
            return self.given_rows
        if sizes is None:
            return self.given_rows.map(lambda weights: weights.astype(np.float64))
        return self.given_rows.map(lambda weights: weights.astype(np.float64) / sizes)

    @computed_once
    def components(self) -> Floats:
        """Return C (k, d) in double precision, divided by `unit`."""
        return self._components_in(self.unit)

    @property
    def lengths(self) -> Floats:
        """Length of each row of the data."""
        return self._pass[1].lengths

    @property
    def sums(self) -> Floats:
        """Sum of each row of the data."""
        return self._pass[1].sums

    @property
    def divisors(self) -> Floats:
        """Sum of each row, zero where its square underflows: such rows count as rows of zeros."""
        return np.where(self.sums >= SAFE_LENGTHS[0], self.sums, 0.0)

    @computed_once
    def absolute_sums(self) -> Floats:
        """Return the absolute sum of each row; negative entries require one more pass."""
        if self._pass[1].lowest >= 0:
            return self.sums
        return self.blocks.map_rows(absolute_row_sums)

    @property
    def residuals(self) -> Floats:
        """‖x − wC‖ of each row."""
        return self._pass[1].residuals

    @computed_once
    def norm(self) -> float:
        """Return ‖X‖_F."""
        return float(np.linalg.norm(self.lengths))

    @computed_once
    def error(self) -> float:
        """Return ‖X − WC‖_F."""
        return float(np.linalg.norm(self.residuals))

    @property
    def relative_error(self) -> float:
        """‖X − WC‖_F / ‖X‖_F; data of zeros have only the error itself."""
        return self.error / self.norm if self.norm > 0 else self.error

    @computed_once
    def error_rounding(self) -> float:
        """Bound the rounding error of the relative error.

        Entries of WC are sums of k products, off by γ_k |W||C| (Higham 2002, Section 3.5), norms
        are sums of d and n squares; where the square is expanded, for sparse data, its own rounding
        is under the root.
        """
        if self.norm == 0:
            return 0.0
        n, (k, d) = self.given.n_rows, self.components.shape
        squares = self.weight_rows.sum(lambda weights: float(np.linalg.norm(weights)) ** 2)
        size = 1 + float(math.sqrt(squares) * np.linalg.norm(self.components)) / self.norm
        rounding = (2 * k + d + n + 16) * np.finfo(np.float64).eps * size
        if not self.blocks.is_sparse:
            return float(rounding)
        return float(rounding * size / max(self.relative_error, math.sqrt(rounding * size)))

    @property
    def entries(self) -> int:
        """Number of entries of the data that the error is about."""
        return self.given.n_rows * self.given.n_columns

    @property
    def as_given(self) -> bool:
        """Whether weights and components here are those of the record, not scaled."""
        return self.unit == 1.0 and self._sizes is None

    @property
    def cross(self) -> Rows:
        """XCᵀ (n, k), stored beside the rows of the data."""
        return self._complete.cross

    @property
    def weights_data(self) -> Floats:
        """WᵀX (k, d)."""
        return self._complete.weights_data

    @property
    def gram(self) -> Floats | None:
        """XᵀX (d, d), where it is small enough; not for more columns than rows in memory."""
        return self._complete.gram

    @computed_once
    def rank_bound(self) -> RankBound:
        """Return the least relative error of any product of this rank, or why it is unknown."""
        if not self.affords(self.rank_bound_seconds):
            return RankBound(
                None, 'left out of a fit, for it takes longer: certify="full" tries it'
            )
        return least_relative_error(self.blocks, self.n_components, self.norm**2, self.gram)

    @computed_once
    def largest_residual_entry(self) -> float:
        """Compute max |x_ij − (WC)_ij| in an additional pass."""
        components = self.components

        def largest(block: Block, weights: Floats) -> Floats:
            return largest_residual_entries(block, weights, components)

        return self.blocks.arg_reduce(largest, self.weight_rows)[1]

    @computed_once
    def components_gram(self) -> Floats:
        """Return CCᵀ (k, k)."""
        return self.components @ self.components.T

    @computed_once
    def weights_gram(self) -> Floats:
        """Return WᵀW (k, k)."""
        found: Floats = self.weight_rows.sum(lambda weights: weights.T @ weights)
        return found

    @computed_once
    def weights_sums(self) -> Floats:
        """Return the sum of each column of W (k,)."""
        found: Floats = self.weight_rows.sum(lambda weights: weights.sum(axis=0))
        return found

    @computed_once
    def weights_peaks(self) -> Floats:
        """Return the largest entry of each column of W (k,); zero if none is positive."""
        peaks = self.weight_rows.each(lambda weights: weights.max(axis=0, initial=0.0))
        return np.asarray(np.max(list(peaks), axis=0))

    @computed_once
    def lowest_weight(self) -> float:
        """Return the smallest entry of W; zero if none is negative."""
        return float(min(self.weight_rows.each(lambda weights: weights.min(initial=0.0))))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the data, the same for every storage; empty if none was asked for."""
        if not self._hashed:
            return ""
        return fingerprint(self.given.shape, self.given.dtype, self._pass[1].hashes)

    def nearest_to(
        self, corners: Floats, model: Model, *, scale_rows: bool = False
    ) -> tuple[Floats, Rows]:
        """Return the distances to the hull, hull and 0, or cone of any corners, in one pass.

        And the weights of the corners in the nearest points. With `scale_rows` the rows are divided
        by their sums; those whose sum is not positive have distance zero.
        """

        def distances_and_weights(block: Block, *sums: Floats) -> Floats:
            squared, weights = nearest_points(block, corners, model, *sums)
            return np.column_stack([np.sqrt(squared), weights])

        sums = (self.divisors,) if scale_rows else ()
        found = self.blocks.keep(distances_and_weights, *sums)
        return found.array(lambda rows: rows[:, 0]), found.map(lambda rows: rows[:, 1:])

    def weights_are_of(self, model: Model) -> bool:
        """Return whether the weights are those of the nearest points of the model."""
        if self.lowest_weight < 0 or model == "hull and 0":
            return False
        if model == "cone":
            return self.constraint == "nonnegative" and self.least_squares
        return self.constraint == "simplex" and (
            max(self.weight_rows.each(_off_simplex)) <= ON_THE_SIMPLEX
        )


def _largest_of_columns(weights: Floats) -> Floats:
    """Return max |w| of each column, a slice at a time: |W| would be as large as W."""
    step = rows_of_a_slice(weights.shape[1])
    slices = (weights[i : i + step] for i in range(0, len(weights), step))
    found = [np.abs(some).max(axis=0) for some in slices]
    return np.max(found, axis=0) if found else np.zeros(weights.shape[1])


def _on_simplex(weights: NDArray[np.floating]) -> bool:
    """Return whether weights are nonnegative with sums of one, up to their precision."""
    return bool(weights.min(initial=0.0) >= 0 and _off_simplex(weights) <= ON_IT_IN_SINGLE)


def _off_simplex(weights: NDArray[np.floating]) -> float:
    """Return the largest difference of the sum of a row from one."""
    return float(np.abs(weights.sum(axis=1, dtype=np.float64) - 1).max(initial=0.0))
