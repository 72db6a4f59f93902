"""How far a new row may be from what the components explain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.methods.base import Factorizer
from provenmf.results import Certificate, Estimate, Factorization

# What rows that were kept aside say about rows to come: split conformal prediction.
#
# Vovk, Gammerman & Shafer 2005; Lei et al. 2018, Theorem 2. The components know nothing of the m
# rows that were kept aside. If those and a new row are exchangeable, the rank of its residual among
# all m + 1 is uniform, so that it is at most the ⌈(m + 1) c⌉-th smallest of theirs with probability
# c.


def rows_needed(confidence: float) -> int:
    """The fewest rows kept aside for which there is a bound: ⌈(m + 1) c⌉ ≤ m."""
    return math.ceil(confidence / (1 - confidence) - 1e-9)


def residual_bound(residuals: NDArray[np.float64], confidence: float) -> float:
    """The ⌈(m + 1) c⌉-th smallest of m residuals."""
    place = math.ceil((len(residuals) + 1) * confidence - 1e-9)
    return float(np.sort(residuals)[place - 1])


ASSUMES = "new rows come from where these came from, in any order (exchangeable)"


class ConformalResidual(NamedTuple):
    """An estimator fitted on a part of the rows, and what the others say about new rows."""

    estimator: Factorizer
    estimate: Estimate


def conformal_residual(
    estimator: Factorizer,
    X: object,
    *,
    confidence: float = 0.9,
    held_out: float = 0.25,
    relative: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> ConformalResidual:
    """Fit on a part of the rows and bound the residual of a new row by the others.

    The residual of a row x is ‖x − w @ components‖ with w from `transform`. The bound is an
    estimate: it holds with the given confidence over the draw of all rows, those kept aside and
    the new one, if they are exchangeable. It is about the components fitted here, which have not
    seen the rows kept aside; no such bound follows for components fitted on all rows.

    Parameters
    ----------
    estimator : Factorizer
        Any estimator of this package; it is cloned, not changed.
    X : array, sparse matrix or frame of shape (n_rows, n_columns)
        Rows are data points.
    confidence : float, default 0.9
        Probability with which a new row is within the bound.
    held_out : float, default 0.25
        Share of the rows to keep aside.
    relative : bool, default False
        Divide each residual by the length of its row.
    random_state : int, RandomState or None, default None
        Which rows are kept aside.

    Returns
    -------
    ConformalResidual
        `estimator`, the fitted clone, whose certificate contains the estimate; and `estimate`.

    Raises
    ------
    InvalidInput
        Too few rows would be kept aside for this confidence, or rows have missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import HALS, conformal_residual
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3)) @ rng.random((3, 20)) + 0.01 * rng.random((200, 20))
    >>> fitted, estimate = conformal_residual(HALS(3, random_state=0), X, random_state=0)
    >>> estimate.confidence, estimate.value < 0.02
    (0.9, True)
    """
    for name, value in (("confidence", confidence), ("held_out", held_out)):
        if not 0 < value < 1:
            raise InvalidInput("must lie between 0 and 1", argument=name, value=value)
    rest, aside = _split(X, held_out, confidence, random_state)
    fitted = clone(estimator).fit(rest)
    fit = Fit(
        as_blocks(aside),
        Factorization(fitted._method, fitted.transform(aside), fitted.components_),
        products=False,
    )
    residuals = fit.residuals * fit.unit
    if np.isnan(residuals).any():
        raise InvalidInput(
            "has rows with missing entries, whose residual is not known",
            argument="X",
            remedy="leave these rows out",
        )
    if relative:
        lengths = fit.lengths * fit.unit
        residuals = np.divide(residuals, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    estimate = Estimate(residual_bound(residuals, confidence), confidence, ASSUMES)
    name = "relative_residual_of_a_new_row" if relative else "residual_of_a_new_row"
    _add(fitted, Certificate(fitted._method, estimates={name: estimate}))
    return ConformalResidual(fitted, estimate)


def _split(
    X: Any, held_out: float, confidence: float, random_state: int | np.random.RandomState | None
) -> tuple[Any, Any]:
    """Rows to fit and rows to keep aside, of which there must be enough."""
    n_rows = np.shape(X)[0]
    found, needed = math.ceil(held_out * n_rows), rows_needed(confidence)
    if found < needed or found >= n_rows:
        raise InvalidInput(
            f"needs {needed} rows kept aside and others to fit, and held_out={held_out} gives "
            f"{found} of {n_rows}",
            argument="confidence",
            value=confidence,
            remedy="raise held_out or lower {argument}",
        )
    rest, aside = train_test_split(X, test_size=held_out, random_state=random_state)
    return rest, aside


def _add(fitted: Factorizer, certificate: Certificate) -> None:
    """Put statements on the certificate of an estimator and on its record."""
    known = getattr(fitted, "certificate_", None)
    fitted.certificate_ = certificate if known is None else known.join(certificate)
    fitted.factorization_ = replace(fitted.factorization_, certificate=fitted.certificate_)
