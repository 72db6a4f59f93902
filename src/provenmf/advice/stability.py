"""Measure how reliably resamples of the rows find the components again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from provenmf.arguments import Within, checked
from provenmf.budget import for_row_slices, generator
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.methods.base import Factorizer
from provenmf.metrics.matching import match_components
from provenmf.results import Factorization
from provenmf.results.display import table_lines

Floats = NDArray[np.float64]
Done = Callable[[int, int], object]

# Cosine from which a component counts as the same one.
SAME = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Agreement of the components over resamples; made by `stability`.

    Attributes
    ----------
    factorization : Factorization
        The fit to all rows, whose components are judged.
    agreement : array (k,)
        Median cosine between a component and its counterpart in a resample; 1 is the same.
    lowest : array (k,)
        The smallest of these cosines.
    n_resamples : int
        Number of resamples.
    share : float
        Share of the rows in each resample.

    See Also
    --------
    stability : makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import SPA, stability
    >>> X = np.vstack([np.eye(3)] * 10)
    >>> stability(SPA(3), X, n_resamples=3).agreement.round(6).tolist()
    [1.0, 1.0, 1.0]
    """

    factorization: Factorization
    agreement: Floats
    lowest: Floats
    n_resamples: int
    share: float

    @property
    def is_stable(self) -> NDArray[np.bool_]:
        """Return which components recur with a median cosine of at least 0.9."""
        return self.agreement >= SAME

    def __repr__(self) -> str:
        found = int(self.is_stable.sum())
        return (
            f"{found} of {len(self.agreement)} components are stable: {self.n_resamples} resamples "
            f"of {self.share:.0%} of the rows find them again (median cosine {SAME} or more)."
        )

    def __str__(self) -> str:
        rows = [
            (f"Component {i}", f"{median:.3f}", f"{least:.3f}")
            for i, (median, least) in enumerate(zip(self.agreement, self.lowest), 1)
        ]
        return "\n".join([repr(self), "", *table_lines(("", "agreement", "lowest"), rows)])

    def _repr_html_(self) -> str:
        """Return the verdict and the table, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


@checked()
def stability(
    estimator: Factorizer,
    X: object,
    *,
    n_resamples: Annotated[int, Within(1, 100_000)] = 20,
    share: Annotated[float, Within(0, 1)] = 0.8,
    random_state: int | None = 0,
    progress: Done | None = None,
) -> Stability:
    """Fit subsamples of the rows with different seeds and compare their components.

    The components of every resample are matched one to one with those of the fit to all rows, by
    the largest sum of cosines.

    Parameters
    ----------
    estimator : Factorizer
        Any estimator of this package; it is cloned, not changed.
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        Rows are data points; for HALS and ANLS entries may be NaN.
    n_resamples : int, default=20
        Number of fits besides the one to all rows; they run in parallel.
    share : float, default=0.8
        Share of the rows in a resample, drawn without replacement.
    random_state : int or None, default=0
        Random seed of the samples and of the fits.
    progress : callable or None, default=None
        Called as progress(fits done, all fits).

    Returns
    -------
    Stability
        Prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import HALS, stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(9 * rng.gamma(0.3, size=(80, 3)) @ rng.gamma(0.3, size=(3, 20)))
    >>> found = stability(HALS(3, tol=1e-3), X, n_resamples=5)
    >>> found.is_stable.tolist()
    [True, True, True]
    """
    if share <= 0:
        raise InvalidInput("must be above 0", argument="share", value=share)
    rng = generator(random_state)
    blocks = as_blocks(X)
    fitted = _seeded(estimator, rng, certify=True).fit(X)
    size = max(1, round(share * blocks.n_rows))
    jobs = [
        (
            np.sort(rng.choice(blocks.n_rows, size, replace=False)),
            _seeded(estimator, rng, certify=False),
        )
        for _ in range(n_resamples)
    ]
    found: dict[int, Floats] = {}

    def fit(which: slice) -> None:
        rows, job = jobs[which.start]
        found[which.start] = job.fit(blocks.take(rows)).components_.astype(np.float64)
        if progress is not None:
            progress(len(found), n_resamples)

    for_row_slices(fit, n_resamples, slice_rows=1)
    components = fitted.components_.astype(np.float64)
    cosines = np.zeros((n_resamples, len(components)))  # zero without a counterpart
    for number, others in found.items():
        matching = match_components(others, components)
        cosines[number, matching.true_rows] = matching.cosines
    medians, lowest = np.median(cosines, axis=0), cosines.min(axis=0)
    return Stability(fitted.factorization_, medians, lowest, n_resamples, share)


def _seeded(estimator: Factorizer, rng: np.random.Generator, *, certify: bool) -> Factorizer:
    fresh: Factorizer = clone(estimator)
    options: dict[str, Any] = {"certify": certify}
    if "random_state" in fresh.get_params(deep=False):
        options["random_state"] = int(rng.integers(np.iinfo(np.int32).max))
    fresh.set_params(**options)
    return fresh
