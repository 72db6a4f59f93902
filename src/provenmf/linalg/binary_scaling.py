"""Scaling by powers of two: exact in floating point, and safe for every size of number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class BalancedFactors(NamedTuple):
    """W D and D⁻¹ H of one product, and the same with rows of W or columns of H scaled."""

    weights: NDArray[np.float64]
    components: NDArray[np.float64]
    weight_rows: NDArray[np.float64]
    component_columns: NDArray[np.float64]


def balanced_factors(
    weights: NDArray[np.floating], components: NDArray[np.floating]
) -> BalancedFactors:
    """Scale a product by powers of two: c W D, D⁻¹ H, R W D and D⁻¹ H C with R, C, D diagonal.

    D gives each component a largest entry in [1/2, 1); c, R and C do the same for all weights, for
    each row of them and for each column of the components. No entry is rounded unless it falls
    below the normal range, 300 orders of magnitude under the largest.
    """
    of_weights, weight_exponents = np.frexp(weights.astype(np.float64))
    of_components, component_exponents = np.frexp(components.astype(np.float64))
    shift = _largest_exponent(component_exponents, of_components, axis=1)
    component_exponents = component_exponents - shift
    weight_exponents = weight_exponents + shift.T
    by_row = _largest_exponent(weight_exponents, of_weights, axis=1)
    by_column = _largest_exponent(component_exponents, of_components, axis=0)
    return BalancedFactors(
        np.ldexp(of_weights, weight_exponents - by_row.max()),
        np.ldexp(of_components, component_exponents),
        np.ldexp(of_weights, weight_exponents - by_row),
        np.ldexp(of_components, component_exponents - by_column),
    )


def _largest_exponent(
    exponents: NDArray[np.intc], mantissas: NDArray[np.float64], *, axis: int
) -> NDArray[np.intc]:
    """The largest exponent among the entries that are not zero; 0 where all are."""
    lowest = np.where(mantissas != 0, exponents, np.iinfo(np.intc).min // 4)
    largest = lowest.max(axis=axis, keepdims=True)
    return np.where(largest < -(10**6), 0, largest).astype(np.intc)
