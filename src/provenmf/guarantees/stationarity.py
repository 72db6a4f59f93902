"""First-order optimality of a pair of nonnegative factors: what HALS and ANLS can promise.

They come with no bound on the error: nonnegative factorization has many local minima. How nearly a
result satisfies the first-order conditions of min 1/2 ||X - WC||_F^2 over W, C >= 0 is measured
here, from the data and the result alone; convergence to such a point is proved for the plain
methods only, not with extrapolation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.guarantees.optimality import weights_residual
from provenmf.linalg.norms import squared_frobenius_norm
from provenmf.records import Certificate, Check, Factorization

STATIONARY = 1e-4


def certify(blocks: Blocks, factorization: Factorization) -> Certificate:
    """Whether the factors satisfy the first-order conditions, to a relative 1e-4."""
    squared_norm = blocks.map_reduce(squared_frobenius_norm)
    if squared_norm == 0:
        return Certificate(factorization.method)
    weights, components = factorization.weights, factorization.components
    of_components = components_residual(blocks, weights, components) / math.sqrt(squared_norm)
    of_weights = weights_residual(blocks, weights, components, "nonnegative")
    residual = max(of_components, of_weights / math.sqrt(squared_norm))
    check = Check(
        "first-order conditions",
        "Karush-Kuhn-Tucker",
        "holds" if residual <= STATIONARY else "fails",
        value=residual,
        threshold=STATIONARY,
        note="a stationary point need not be the best factorization",
    )
    return Certificate(
        factorization.method,
        checks=(check,),
        measures={"components_optimality_residual": of_components},
    )


def components_residual(blocks: Blocks, weights: NDArray[Any], components: NDArray[Any]) -> float:
    """How far the components are from optimal for these weights, in the units of ||X||_F.

    Length of the projected gradient of 1/2 ||X - WC||^2 in C divided by ||W||_2; it is zero exactly
    at the least-squares components.
    """

    def products(block: Block, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        wide = rows.astype(np.float64, copy=False)
        return wide.T @ wide, np.asarray(block.T @ wide).T

    gram, cross = blocks.map_reduce(products, weights)
    gradient = gram @ components - cross
    projected = np.where(components > 0, gradient, np.minimum(gradient, 0.0))
    largest = float(np.linalg.eigvalsh(gram)[-1])
    return float(np.linalg.norm(projected)) / math.sqrt(largest) if largest > 0 else 0.0
