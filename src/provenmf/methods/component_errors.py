"""Standard errors of the components of a factorization, by resampling the rows of its data.

Noise moves components outwards: a cone must hold the rows that noise took farthest, however many
rows there are, so that small entries come out too small, and no resample of the rows shows it. What
noise does to the answer shows where the answer is the truth: its product gets the residuals again,
each with a random sign (the wild bootstrap, Wu 1986; their size corrected for the parameters that
fitted them), and is factorized. The mean change estimates the bias, and counts as an error.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.storage import as_dense
from provenmf.methods.certify import estimator_of
from provenmf.methods.resampling import FEWEST, Draw, error_bars, half_of_rows, resampled
from provenmf.methods.run import Callback
from provenmf.results import Factorization
from provenmf.results.answers import numbered
from provenmf.results.factorization import with_estimates

if TYPE_CHECKING:
    from provenmf.methods import RandomState


MOST_ENTRIES = 20_000_000  # of data with noise drawn anew: they are dense
LEAST_ROWS = 5  # for each component, below which rows say too little of the bias
ASSUMES = (
    "rows are drawn independently from one source, and the components found are off by chance alone"
)
NO_BIAS = (
    "the bias that noise causes is not part of the standard errors: the data have too many columns "
    "to draw them anew"
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
    fewer than four of five halves show again is called unstable in the notes. Ten more fits, to the
    result's own product with noise like that of the data, show its bias, which counts as an error
    too. Of data with more than 20 million entries they take as many rows as have so many: the bias
    hardly depends on the number of rows. Where these are too few, a note says that it is left out.

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

    def components_of(data: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        again = type(estimator)(**estimator.get_params()).fit(data)
        components = np.asarray(again.components_, dtype=np.float64)
        return components, components

    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    spread = resampled(
        lambda drawn: components_of(blocks.take(drawn)),
        found,
        blocks.n_rows,
        n_resamples,
        rng,
        rescale=True,
        draw=half_of_rows,
        callback=callback,
    )
    # The mean shift of halves from the answer estimates the answer's own shift from the truth.
    errors = np.hypot(spread.errors, spread.shift)
    rows = rows_for_bias(blocks.shape, len(found), rng)
    if rows is not None:
        part = as_dense(blocks.take(rows) if len(rows) < blocks.n_rows else blocks.everything())
        noisy = drawn_with_noise(part, factorization.weights[rows], factorization.components)
        shifts = resampled(components_of, found, len(rows), FEWEST, rng, rescale=True, draw=noisy)
        errors = np.hypot(errors, shifts.shift)
    spread = replace(spread, errors=errors)
    bars = error_bars(found, spread, ASSUMES, positive=bool(found.min() >= 0))
    result = with_estimates(factorization, bars, found)
    notes = bars.notes(numbered("Component", len(found)))
    if rows is None:
        notes = (*notes, NO_BIAS)
    return replace(result, error_bars=bars, notes=(*factorization.notes, *notes))


def rows_for_bias(
    shape: tuple[int, int], k: int, rng: np.random.Generator
) -> NDArray[np.intp] | None:
    """All rows, or as many as can be drawn anew; None where these are too few to show a bias."""
    n, d = shape
    if n * d <= MOST_ENTRIES:
        return np.arange(n)
    fit = MOST_ENTRIES // d
    return np.sort(rng.choice(n, fit, replace=False)) if fit >= LEAST_ROWS * k else None


def drawn_with_noise(
    data: NDArray[np.floating], weights: NDArray[np.floating], components: NDArray[np.floating]
) -> Draw:
    """Draws of the factors' product with the residuals under random signs.

    They are made longer as those of a fit of n k + k d parameters to n d entries are too short;
    data that are not negative stay so.
    """
    (n, d), k = data.shape, len(components)
    product = np.asarray(weights, dtype=np.float64) @ np.asarray(components, dtype=np.float64)
    left = (data - product) / math.sqrt(max(1.0 - k / d - k / n, 0.1))
    least = 0.0 if data.min() >= 0 else -math.inf

    def draw(rng: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
        noisy = product + left * rng.choice([-1.0, 1.0], (n_rows, d))
        return np.asarray(np.maximum(noisy, least))

    return draw
