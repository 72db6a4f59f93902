"""Estimators with all their options, drawn from what they declare to be legal."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from files import damaged, damaged_inside
from matrices import Rng, draw, fingerprint, stored
from oracles import check_fit, hold, is_allowed, relative_error, same_twice, saved_equal

from provenmf import AND, Checkpoint
from provenmf.methods import CATALOGUE, estimator_class
from provenmf.methods.and_descent import kernels
from provenmf.methods.traits import constraints_of

INITS = ("cones", "spa", "merit", "random-rows", "random", "nndsvd", "nndsvda")
SKIPPED = ("callback", "on_interrupt", "random_state", "verbose", "n_components")
# Between relative errors in double and single precision: angles below the root of it are not seen.
SINGLE_GAP = 5e-4
STORAGE_GAP = 1e-6  # between products, relative to the data
NEIGHBOURS = 8
STAGES = 3
# AND's limit of rounding in units of the data's precision, which is the same limit for both.
ROUNDING = {4: kernels.ROUNDING, 8: kernels.ROUNDING * 2**29}
LARGEST = {
    "max_iter": 60,
    "n_steps": 40,
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


def estimator(rng: Rng, shape: tuple[int, int]) -> Any:
    n_rows, n_columns = shape
    cls = estimator_class(str(rng.choice(sorted(CATALOGUE))))
    defaults = cls().get_params()
    options = {
        name: legal_value(rng, name, constraints_of(cls)[name], default)
        for name, default in defaults.items()
        if name not in SKIPPED
    }
    options["n_components"] = [None, "auto", *range(1, min(n_rows, 6) + 2)][
        rng.integers(min(n_rows, 6) + 3)
    ]
    if "known_components" in defaults and rng.random() < 0.2:
        options["known_components"] = rng.random((int(rng.integers(1, 4)), n_columns))
    if "random_state" in defaults:
        options["random_state"] = int(rng.integers(100))
    return cls(**options)


def fitted(model: Any, X: Any, **options: Any) -> Any | None:
    """The fitted model, or None if the refusal is an answer."""
    try:
        return model.fit(X, **options)
    except Exception as error:
        if not is_allowed(error):
            raise
        return None


def case(rng: Rng) -> str:
    """One fit of anything, and all that must hold of it."""
    from sklearn.base import clone

    matrix = stored(rng, draw(rng))
    model = estimator(rng, matrix.shape)
    before = fingerprint(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # numpy: overflow, division by zero
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


def neighbours(matrix: np.ndarray, digit: float) -> list[np.ndarray]:
    """Matrices that differ from this one by a digit of every entry, or of the largest one.

    The second because sums round to their largest term.
    """
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (NEIGHBOURS, *matrix.shape))
    added = digit * matrix.max() * rng.random((NEIGHBOURS, *matrix.shape))
    return [matrix * (1 + digit * sign) for sign in signs] + [matrix + each for each in added]


def check_single(model: Any, matrix: np.ndarray) -> None:
    """Single precision fits as well as double, or as data that differ in their last single digit.

    Where several answers are near, that digit chooses among them in double precision too. AND is
    compared after a few stages: whether a weight exceeds a threshold may turn on one digit, and the
    stages that follow enlarge it. How many weights AND takes for negative depends on the precision
    of the data; so the fit in double precision counts as the one in single precision does.
    """
    if isinstance(model, AND):
        model.set_params(max_iter=min(model.max_iter, STAGES))
    double = error_of(model, matrix, matrix)
    apart = abs(error_of(model, matrix.astype(np.float32), matrix) - double)
    if apart > SINGLE_GAP:
        near = neighbours(matrix, float(np.finfo(np.float32).eps / 2))
        spread = max(abs(error_of(model, each, matrix) - double) for each in near)
        hold(
            apart <= SINGLE_GAP + 3 * spread,
            f"double {double:.3e}, single precision {apart:.3e} away, neighbours {spread:.3e}: "
            f"{model}",
        )


def error_of(model: Any, data: Any, matrix: np.ndarray) -> float:
    """The relative error of a fit with factors in single precision, infinite if it is refused."""
    with mock.patch.object(kernels, "ROUNDING", ROUNDING[data.dtype.itemsize]):
        found = fitted(type(model)(**model.get_params()), data)
    if found is None:
        return float("inf")
    factors = (found.factorization_.weights, found.components_)
    return relative_error(matrix, *(factor.astype(np.float32) for factor in factors))


def checkpoint_case(rng: Rng) -> str:
    """A fit with a checkpoint is the same; a damaged or foreign folder is refused or harmless."""
    from sklearn.base import clone

    matrix = draw(rng, sane=True)
    model = estimator(rng, matrix.shape).set_params(certify=False)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        expected = fitted(clone(model), matrix)
        if expected is None:
            return "refused"
        same_twice(expected, fitted(clone(model), matrix, checkpoint=Checkpoint(folder, seconds=0)))
        same_twice(expected, fitted(clone(model), matrix, checkpoint=folder))
        files = sorted(Path(folder).iterdir())
        spoil(rng, files[rng.integers(len(files))], files)
        again = fitted(clone(model), matrix, checkpoint=folder)
        if again is not None:
            same_twice(expected, again)
    return "resumed" if again is not None else "damaged folder refused"


def spoil(rng: Rng, file: Path, files: list[Path]) -> None:
    """Damage a file of a checkpoint, remove it, or put another one in its place."""
    how = rng.integers(6)
    content = file.read_bytes()
    if how == 0:
        file.unlink()
    elif how == 1:
        file.write_bytes(files[rng.integers(len(files))].read_bytes())
    elif how == 2 and file.suffix == ".npz":
        file.write_bytes(damaged_inside(rng, content))
    elif how == 3:
        file.write_bytes(content[: int(rng.integers(len(content)))])
    elif how == 4 and hasattr(os, "mkfifo"):
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(damaged(rng, content))


def storage_case(rng: Rng) -> str:
    """Dense and sparse data give the same product, single precision one that is as good.

    Where rounding chooses among several answers, data that differ in the last digits do so too.
    """
    matrix = draw(rng, sane=True).astype(np.float32).astype(np.float64)
    model = estimator(rng, matrix.shape).set_params(certify=False)
    if "unstored" in model.get_params():
        model.set_params(unstored="zero")  # the other choice means something in sparse data only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense, sparse = (product_of(model, X) for X in (matrix, sp.csr_array(matrix)))
        if dense is None and sparse is None:
            return "refused"
        scale = max(np.linalg.norm(matrix), 1e-300)
        apart = distance(dense, sparse) / scale
        if apart > STORAGE_GAP:
            near = neighbours(matrix, float(8 * np.finfo(np.float64).eps))
            spread = max(distance(dense, product_of(model, each)) for each in near) / scale
            hold(
                apart <= STORAGE_GAP + 3 * spread,
                f"dense and sparse are {apart:.1e} apart, neighbours {spread:.1e}: {model}",
            )
            return "left to rounding"
        # Beyond the rank components may coincide, and rounding within the solver parts them or not.
        rank = np.linalg.matrix_rank(matrix, tol=1e-6 * np.linalg.norm(matrix))
        if not isinstance(model.n_components, int) or model.n_components <= rank:
            check_single(model, matrix)
    return "compared"


def product_of(model: Any, X: Any) -> np.ndarray | None:
    """The product of the factors that a fit finds, None if it is refused."""
    found = fitted(type(model)(**model.get_params()), X)
    return None if found is None else found.factorization_.weights @ found.components_


def distance(one: np.ndarray | None, other: np.ndarray | None) -> float:
    """The distance of two products, infinite if only one of the fits is refused."""
    if one is None or other is None:
        return 0.0 if one is other else float("inf")
    return float(np.linalg.norm(one - other))
