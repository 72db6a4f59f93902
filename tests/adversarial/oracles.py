"""What must be true of every outcome, and which errors are an answer."""

from __future__ import annotations

import json
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from matrices import fingerprint

from provenmf import load
from provenmf.errors import ProvenmfError


class Wrong(AssertionError):
    """An oracle does not hold."""


def hold(condition: Any, what: str) -> None:
    if not condition:
        raise Wrong(what)


def is_allowed(error: BaseException) -> bool:
    """Our own errors, and what scikit-learn's validation says about data and parameters."""
    if isinstance(error, (ProvenmfError, Wrong)):
        return isinstance(error, ProvenmfError)
    last = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
    places = ("sklearn/utils/validation.py", "sklearn/utils/_param_validation.py")
    return isinstance(error, (ValueError, TypeError)) and last.endswith(places)


def answered(what: str, call: Callable[[], Any], *given: Any) -> str:
    """Whether a call is answered or refused; it leaves what is given as it was."""
    before = [fingerprint(each) for each in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # numpy: overflow, division by zero
        try:
            call()
        except Exception as error:
            if not is_allowed(error) or "is not an option of" in str(error):  # tries nothing
                raise
            return f"{what} refused"
        finally:
            hold([fingerprint(each) for each in given] == before, f"{what} changed its argument")
    return f"{what} answered"


def plain(matrix: Any) -> np.ndarray:
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    return dense.astype(np.float64)


def relative_error(matrix: Any, weights: np.ndarray, components: np.ndarray) -> float:
    """‖X − W H‖ / ‖X‖ over the entries that are not NaN, the plain way, with X scaled to one."""
    data = plain(matrix)
    missing = np.isnan(data)
    data = np.where(missing, 0.0, data)
    scale = np.abs(data).max(initial=0.0)
    if scale == 0:
        return 0.0
    rest = data / scale - weights.astype(float) @ (components.astype(float) / scale)
    return float(np.linalg.norm(rest[~missing]) / np.linalg.norm(data / scale))


def check_fit(model: Any, matrix: Any, *, single: bool) -> None:
    """Shapes, signs and finite numbers of a fitted estimator, and its reported error."""
    found = model.factorization_
    n, d = matrix.shape
    k = found.n_components
    hold(found.weights.shape == (n, k), f"weights have shape {found.weights.shape}, not {(n, k)}")
    hold(found.components.shape == (k, d), f"components have shape {found.components.shape}")
    for name in ("weights", "components"):
        hold(np.isfinite(getattr(found, name)).all(), f"{name} are not finite")
    hold(found.weights.min(initial=0.0) >= 0, "weights are negative")
    hold(np.isfinite(model.reconstruction_err_), "reconstruction_err_ is not finite")
    if model.get_params().get("constraint") == "simplex":
        gap = np.abs(found.weights.sum(axis=1, dtype=float) - 1).max(initial=0.0)
        hold(gap < 1e-4, f"simplex weights miss one by {gap:.1e}")
    if found.anchors is not None:
        hold(((0 <= found.anchors) & (found.anchors < n)).all(), "anchors are no rows")
    if found.certificate is not None:
        fitted = as_fitted(model, matrix)
        check_certificate(
            found.certificate, relative_error(fitted, found.weights, found.components), single
        )


def as_fitted(model: Any, matrix: Any) -> np.ndarray:
    """The numbers that the options of a model make of data: clipped, or missing where unstored."""
    options, numbers = model.get_params(), plain(matrix)
    if options.get("clip_negative"):
        numbers = np.maximum(numbers, 0.0)
    if options.get("unstored") == "missing" and sp.issparse(matrix):
        entries = sp.coo_array(matrix)
        stored = np.zeros(matrix.shape, dtype=bool)
        stored[entries.row, entries.col] = True
        numbers[~stored] = np.nan
    return numbers


def check_certificate(certificate: Any, error: float, single: bool) -> None:
    strict(certificate.to_dict())
    said = certificate.measures.get("relative_error")
    if said is not None:
        slack = (1e-3 if single else 1e-6) * max(1.0, error)
        hold(abs(said - error) <= slack, f"relative error {said!r} is reported, {error!r} is true")


def same_twice(first: Any, second: Any) -> None:
    one, two = first.factorization_, second.factorization_
    for name in ("weights", "components"):
        same = getattr(one, name).tobytes() == getattr(two, name).tobytes()
        hold(same, f"the same seed gives other {name}")


def saved_equal(record: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.npz")
        record.save(path)
        hold(load(path) == record, "a saved record is not equal to itself")


def strict(content: Any) -> None:
    """JSON without NaN and Infinity."""
    if isinstance(content, str):
        json.loads(content, parse_constant=_refused)
    else:
        json.dumps(content, allow_nan=False)


def _refused(text: str) -> None:
    raise Wrong(f"{text} in JSON")
