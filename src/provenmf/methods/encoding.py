"""Weights of new rows for the components of a given result, as its own fit finds them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from provenmf.methods.certify import estimator_of
from provenmf.results import Factorization


def weights_of(X: object, factorization: Factorization) -> NDArray[Any]:
    """Weights (n, k) of the rows of X by the method that made the factorization."""
    estimator = estimator_of(factorization)
    blocks = estimator._blocks(X, reset=True)
    weights: NDArray[Any] = estimator._encode(blocks, factorization.components)
    return weights
