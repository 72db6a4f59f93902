"""Weights of given components: the one solver behind `fit_transform` and `transform`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares
from provenmf.linalg.observed import best_observed_rows
from provenmf.linalg.penalties import Penalty

Constraint = Literal["nonnegative", "simplex"]
NONE = Penalty()

_LEAST_SQUARES = {"nonnegative": nonnegative_least_squares, "simplex": simplex_least_squares}


def encode(
    blocks: Blocks,
    components: NDArray[np.floating],
    *,
    constraint: Constraint = "nonnegative",
    penalty: Penalty = NONE,
) -> NDArray[Any]:
    """Rows w of the weights minimise ½‖x − w·components‖² over w ≥ 0 (and Σw = 1 on the simplex).

    One pass; everything comes from the k × k Gram matrix. The result has the data's dtype. With
    missing entries (nonnegative weights only) the sum of squares is over the observed ones. A
    penalty on w is added where there is one.
    """
    if isinstance(blocks, ObservedBlocks):
        return _encode_observed(blocks, components, penalty)
    return blocks.map_rows(encoder(components, blocks.dtype, constraint, penalty))


def encoder(
    components: NDArray[np.floating],
    dtype: np.dtype[Any],
    constraint: Constraint = "nonnegative",
    penalty: Penalty = NONE,
) -> Callable[[Block], NDArray[Any]]:
    """The function that finds the weights of a block's rows; see `encode`."""
    solve = _LEAST_SQUARES[constraint]
    wide = components.astype(np.float64, copy=False)
    gram = wide @ wide.T

    def weights_of(block: Block) -> NDArray[Any]:
        cross = np.asarray(block @ wide.T, dtype=np.float64)
        return solve(*penalty.normal_equations(gram, cross)).astype(dtype, copy=False)

    return weights_of


def _encode_observed(
    blocks: ObservedBlocks, components: NDArray[np.floating], penalty: Penalty
) -> NDArray[Any]:
    features = np.ascontiguousarray(components.T, dtype=np.float64)
    start = np.zeros((blocks.n_rows, len(components)))
    return best_observed_rows(blocks.entries, features, start, 0, penalty).astype(blocks.dtype)
