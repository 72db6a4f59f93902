"""Dual ascent for MERIT: raise each row's level as long as no column is overcharged.

For fixed residuals r_l the levels v prove the lower bound sum_l v_l - <r_l, x_l> - ||r_l||^2 / 2 of
the objective if in every column n the charges max(0, v_l - <x_n, r_l>) sum to at most lam.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Floats = NDArray[np.float64]
kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def add_charges_in_place(products: NDArray[np.floating], levels: Floats, charges: Floats) -> None:
    """Add to `charges` what the rows of a slice charge each column at the given levels."""
    for row in range(levels.size):
        for column in range(charges.size):
            charge = levels[row] - products[row, column]
            if charge > 0.0:
                charges[column] += charge


@kernel
def raise_levels_in_place(
    products: NDArray[np.floating], levels: Floats, slack: Floats, fraction: float
) -> None:
    """Raise each level by a fraction of what the columns' remaining slack allows."""
    for row in range(levels.size):
        allowed = np.inf
        for column in range(slack.size):
            room = max(products[row, column] - levels[row], 0.0) + slack[column]
            allowed = min(allowed, room)
        if allowed <= 0.0:
            continue
        raised = levels[row] + fraction * allowed
        for column in range(slack.size):
            charge = max(levels[row] - products[row, column], 0.0)
            slack[column] -= max(raised - products[row, column], 0.0) - charge
        levels[row] = raised


@kernel
def add_margins_in_place(products: NDArray[np.floating], margins: Floats) -> float:
    """The sum over the rows of a slice of their lowest product.

    How far it is below the row's second lowest one is added to the margin of its column.
    """
    total = 0.0
    for row in range(products.shape[0]):
        lowest, second, where = np.inf, np.inf, 0
        for column in range(margins.size):
            product = products[row, column]
            if product < lowest:
                lowest, second, where = product, lowest, column
            elif product < second:
                second = product
        margins[where] += second - lowest
        total += lowest
    return total
