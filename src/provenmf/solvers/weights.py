"""Weights of given components: the one solver behind `fit_transform` and `transform`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares

Constraint = Literal["nonnegative", "simplex"]

_LEAST_SQUARES = {"nonnegative": nonnegative_least_squares, "simplex": simplex_least_squares}


def encode(
    blocks: Blocks, components: NDArray[np.floating], *, constraint: Constraint = "nonnegative"
) -> NDArray[Any]:
    """Rows w of the weights minimise ½‖x − w·components‖² over w ≥ 0 (and Σw = 1 on the simplex).

    One pass; everything comes from the k × k Gram matrix. The result has the data's dtype.
    """
    solve = _LEAST_SQUARES[constraint]
    wide = components.astype(np.float64, copy=False)
    gram = wide @ wide.T

    def weights_of(block: Block) -> NDArray[Any]:
        cross = np.asarray(block @ wide.T, dtype=np.float64)
        return solve(gram, cross).astype(blocks.dtype, copy=False)

    return blocks.map_rows(weights_of)
