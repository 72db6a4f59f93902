"""Standard errors and intervals of what was found: estimated, neither proved nor measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from provenmf.results.certificate import Estimate
from provenmf.results.shapes import Shape

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
# A component that fewer of the resamples show again than this is called unstable.
STABLE = 0.8


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """How far off each entry may be, if what they assume is true.

    Parameters
    ----------
    standard_errors : ndarray of shape (rows, columns)
        Of each entry of what `of` names.
    lower, upper : ndarray of shape (rows, columns)
        Ends of the interval that holds the truth with the probability `confidence`, entry by entry.
    of : str
        "components" or "weights" of the answer.
    assumes : str
        What must be true of the data.
    n_resamples : int
        How many times the answer was found again; 0 where the errors follow from a formula.
    returned : ndarray of shape (k,) or None
        Share of the resamples in which each component came back; None without resamples.
    confidence : float
        0.95.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.results.error_bars import ErrorBars
    >>> one = np.ones((2, 3))
    >>> bars = ErrorBars(one, 0 * one, 4 * one, "components", "", 10, np.array([1.0, 0.3]))
    >>> bars.unstable
    (1,)
    """

    standard_errors: Annotated[Floats, Shape("rows", "columns")]
    lower: Annotated[Floats, Shape("rows", "columns")]
    upper: Annotated[Floats, Shape("rows", "columns")]
    of: str
    assumes: str
    n_resamples: int = 0
    returned: Annotated[Floats, Shape("k")] | None = None
    confidence: float = CONFIDENCE

    @property
    def unstable(self) -> tuple[int, ...]:
        """Components that fewer than four of five resamples find again."""
        if self.returned is None:
            return ()
        return tuple(int(j) for j in np.flatnonzero(self.returned < STABLE))

    def estimates(self, values: Floats) -> dict[str, Estimate]:
        """Return the summary for a certificate; `values` are the entries that the errors are of.

        Where an entry may be anything, its error is infinite, and there is no summary.
        """
        size = max(float(np.sqrt(np.sum(values**2))), np.finfo(float).tiny)
        error = float(np.sqrt(np.sum(self.standard_errors**2))) / size
        found = {}
        if np.isfinite(error):
            said = Estimate(error, self.confidence, self.assumes)
            found[f"{self.of}_standard_error"] = said
        if self.returned is not None:
            least = Estimate(float(self.returned.min()), self.confidence, self.assumes)
            found["least_recurrence"] = least
        return found

    def notes(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Describe how the errors were found, and each component that does not come back."""
        if self.returned is None:
            return ()
        known = np.isfinite(self.standard_errors)
        how = (
            f"{self.n_resamples} resamples: the {self.of} have standard errors of "
            f"{np.median(self.standard_errors[known]) if known.any() else np.inf:.2g} in the "
            f"median entry; estimated, if {self.assumes}"
        )
        return (
            how,
            *(
                f"{names[j]} is unstable: {self.returned[j]:.0%} of the resamples find it again"
                for j in self.unstable
            ),
            *(
                f"the errors of {names[j]} are unknown and set to infinity: at most one of the "
                f"{self.n_resamples} resamples has a component that matches it"
                for j in np.flatnonzero(~known.all(axis=1))
            ),
        )
