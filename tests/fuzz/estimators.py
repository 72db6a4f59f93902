"""Estimators with all their options, drawn from what they declare to be legal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from matrices import Rng, draw, fingerprint, stored
from oracles import check_fit, hold, is_allowed, relative_error, same_twice, saved_equal

from provenmf import ANLS, HALS
from provenmf.estimators import CATALOGUE, estimator_class

INITS = ("cones", "spa", "anchors", "merit", "random-rows", "random", "nndsvd", "nndsvda")
SKIPPED = ("callback", "on_interrupt", "random_state", "verbose", "memory_limit", "n_components")
LARGEST = {
    "max_iter": 60,
    "inner_steps": 40,
    "max_components": 12,
    "n_projections": 50,
    "batch_size": 9,
}


def legal_value(rng: Rng, name: str, constraints: list[Any], default: Any) -> Any:
    """A value of one of the declared kinds; half of the time the default."""
    if rng.random() < 0.5:
        return min(default, LARGEST["max_iter"]) if name == "max_iter" and default else default
    if name == "init":
        names = [option for c in constraints for option in getattr(c, "options", ())]
        return str(rng.choice(names or list(INITS)))
    constraint = constraints[rng.integers(len(constraints))]
    if constraint is None:
        return None
    if constraint == "boolean":
        return bool(rng.random() < 0.5)
    if hasattr(constraint, "options"):
        return str(rng.choice(sorted(constraint.options)))
    if hasattr(constraint, "left"):
        low = constraint.left if constraint.left is not None else 0
        if "int" in str(constraint):
            return int(rng.integers(max(1, low), LARGEST.get(name, 12) + 1))
        high = constraint.right if constraint.right is not None else low + 10
        return float(low + (high - low) * rng.choice([1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9]))
    return default


def estimator(rng: Rng, n_rows: int) -> Any:
    cls = estimator_class(str(rng.choice(sorted(CATALOGUE))))
    defaults = cls().get_params()
    options = {
        name: legal_value(rng, name, cls._parameter_constraints[name], default)
        for name, default in defaults.items()
        if name not in SKIPPED
    }
    options["n_components"] = [None, "auto", *range(1, min(n_rows, 6) + 2)][
        rng.integers(min(n_rows, 6) + 3)
    ]
    if "random_state" in defaults:
        options["random_state"] = int(rng.integers(100))
    return cls(**options)


def fitted(model: Any, X: Any) -> Any | None:
    """The fitted model, or None if the refusal is an answer."""
    try:
        return model.fit(X)
    except Exception as error:
        if not is_allowed(error):
            raise
        return None


def case(rng: Rng) -> str:
    """One fit of anything, and all that must hold of it."""
    from sklearn.base import clone

    matrix = stored(rng, draw(rng))
    model = estimator(rng, matrix.shape[0])
    before = fingerprint(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fitted(model, matrix)
        hold(fingerprint(matrix) == before, f"{model} changed its argument")
        if found is None:
            return "refused"
        single = matrix.dtype.itemsize <= 4 and matrix.dtype.kind == "f"
        check_fit(found, matrix, single=single)
        same_twice(found, fitted(clone(model), matrix))
        if rng.random() < 0.3:
            saved_equal(found.factorization_)
    return "fitted"


def storage_case(rng: Rng) -> str:
    """Dense and sparse, single and double precision: nearly as good on sane data."""
    matrix = draw(rng, sane=True)
    model = estimator(rng, len(matrix)).set_params(certify=False)
    forms = [matrix, sp.csr_array(matrix)]
    if isinstance(model, (HALS, ANLS)):  # rounding can break a tie between anchors the other way
        forms.append(matrix.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [fitted(type(model)(**model.get_params()), X) for X in forms]
    hold((found[0] is None) == (found[1] is None), f"only one storage is refused: {model}")
    if found[0] is None:
        return "refused"
    errors = [
        relative_error(X, f.factorization_.weights, f.factorization_.components)
        for X, f in zip(forms, found)
        if f is not None
    ]
    names = ("dense", "sparse", "single precision")
    for name, error, slack in zip(names, errors, (0.0, 1e-3, 0.02)):
        close = abs(error - errors[0]) <= slack * (1 + 10 * errors[0])
        hold(close, f"dense {errors[0]:.3e}, {name} {error:.3e}: {model}")
    return "compared"
