"""Standard errors of the components of a factorization, by resampling the rows of its data."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from provenmf.estimators.certificate import estimator_of
from provenmf.estimators.resampling import error_bars, resampled
from provenmf.records import Factorization
from provenmf.records.answers import numbered
from provenmf.records.factorization import with_estimates
from provenmf.solvers.run import Callback

if TYPE_CHECKING:
    from provenmf.estimators import RandomState

ASSUMES = (
    "rows are drawn independently from one source, and the components found are off by chance alone"
)


def with_error_bars(
    X: Any,
    factorization: Factorization,
    n_resamples: int = 100,
    *,
    random_state: RandomState = 0,
    callback: Callback | None = None,
) -> Factorization:
    """The factorization with standard errors and 95 % intervals of its components.

    The components are found again in `n_resamples` random halves of the rows, each time by the
    method and the parameters of the result; a method that has a start begins with the components
    found. They are matched with those of the result and brought to their scale. A component that
    fewer than four of five halves show again is called unstable in the notes.

    Parameters
    ----------
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        The data of the factorization.
    factorization : Factorization
        From `factorize` or an estimator.
    n_resamples : int, default=100
        At least 10. Each takes as long as a fit; several run at a time.
    random_state : int, RandomState or None, default=0
        Seed of the draws.
    callback : callable, optional
        Called with {"seconds": …, "resamples": …}; returning True ends with those made so far.

    Returns
    -------
    Factorization
        With `error_bars`, a summary among its certificate's estimates, and notes.

    Notes
    -----
    The intervals speak of chance in the rows alone. Where other factorizations fit as well (see the
    certificate on uniqueness) they do not say how far off those are.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import factorize, with_error_bars
    >>> rng = np.random.default_rng(0)
    >>> truth = np.array([[4.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 3.0]])
    >>> X = rng.dirichlet([0.3, 0.3], 200) @ truth + 0.1 * rng.random((200, 4))
    >>> result = with_error_bars(X, factorize(X, 2, random_state=0), 20)
    >>> result.error_bars.standard_errors.shape, result.error_bars.unstable
    ((2, 4), ())
    """
    from sklearn.utils import check_random_state

    estimator = estimator_of(factorization)
    blocks = estimator._blocks(X, reset=True)
    found = np.asarray(factorization.components, dtype=np.float64)
    given: dict[str, Any] = {"n_components": len(found), "certify": False, "callback": None}
    if "init" in inspect.signature(type(estimator)).parameters:
        given["init"] = factorization.components
    estimator.set_params(**given)

    def refit(drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        again = type(estimator)(**estimator.get_params()).fit(blocks.take(drawn))
        components = np.asarray(again.components_, dtype=np.float64)
        return components, components

    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    spread = resampled(
        refit, found, blocks.n_rows, n_resamples, rng, rescale=True, halves=True, callback=callback
    )
    # What halves add to the answer on average, the answer has added to the truth.
    spread = replace(spread, errors=np.hypot(spread.errors, spread.shift))
    bars = error_bars(found, spread, ASSUMES, positive=bool(found.min() >= 0))
    result = with_estimates(factorization, bars, found)
    notes = bars.notes(numbered("Component", len(found)))
    return replace(result, error_bars=bars, notes=(*factorization.notes, *notes))
