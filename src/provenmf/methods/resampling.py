"""Standard errors by resampling: the answer is found again in rows drawn with replacement.

Efron's bootstrap; or random halves of the rows (Politis & Romano 1994), whose answers differ from
that of all rows by as much, and which suit answers that hang on extreme rows. Components of a
resample come in any order and, without a scale of their own, at any scale: they are matched with
those of the answer first. A component has come back if the cosine between it and its match is at
least `ALIKE`.

Intervals reach from x − q s to x + q s with the standard error s and Student's quantile q for the
number of resamples, cut at zero where entries cannot be negative. Entries that rest on counts need
more room upwards: a word that did not occur may still occur elsewhere. If one occurrence counts u,
the upper end is that of the score interval for a Poisson variable,
x + u q²/2 + q √(s² + u² q²/4).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from provenmf.budget import available_threads, for_row_slices
from provenmf.errors import InvalidInput
from provenmf.methods.run import Callback, Run
from provenmf.metrics.matching import match_components
from provenmf.results.error_bars import CONFIDENCE, ErrorBars

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
# Components found in what was drawn, and the same entries as their spread is to be measured.
Refit = Callable[[Any], tuple[Floats, Floats]]
Draw = Callable[[np.random.Generator, int], Any]

ALIKE = 0.8
FEWEST = 10


@dataclass(frozen=True, eq=False)
class Spread:
    """Of resampled components around their mean.

    errors : (k, d), standard deviations. shift : (k, d), their mean minus the answer.
    counts : (k,), resamples in which each was matched. returned : (k,), share of all resamples in
    which it came back. n_resamples : how many were made.
    """

    errors: Floats
    shift: Floats
    counts: NDArray[np.intp]
    returned: Floats
    n_resamples: int


def with_replacement(rng: np.random.Generator, n_rows: int) -> Rows:
    """As many rows as there are."""
    return np.sort(rng.integers(0, n_rows, n_rows))


def half_of_rows(rng: np.random.Generator, n_rows: int) -> Rows:
    """Half of the rows, none twice."""
    return np.sort(rng.choice(n_rows, n_rows // 2, replace=False))


def resampled(
    refit: Refit,
    reference: Floats,
    n_rows: int,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    rescale: bool = False,
    draw: Draw = with_replacement,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Spread:
    """Find the components again in `n_resamples` draws of the rows, several at a time.

    `draw` takes a generator and the number of rows; `refit` gets what it returns.
    A resample in which they cannot be found counts as one that shows none of them. The answer is
    the same for any number of threads.
    """
    check_resamples(n_resamples)
    draws = rng.spawn(n_resamples)
    sums = _Sums(reference, rescale)
    at_once = available_threads()
    run = Run(-(-n_resamples // at_once), callback=callback, verbose=verbose, name="resample")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the answer itself have been shown
        for chunk in run:
            chosen = draws[chunk * at_once : (chunk + 1) * at_once]
            for found in _found_again(refit, n_rows, chosen, draw):
                sums.add(found)
            run.record(resamples=sums.n_resamples)
    return sums.spread()


def _found_again(
    refit: Refit, n_rows: int, draws: list[np.random.Generator], draw: Draw
) -> list[tuple[Floats, Floats] | None]:
    """What each draw of the rows shows, in threads; None where nothing can be found."""
    found: list[tuple[Floats, Floats] | None] = [None] * len(draws)

    def work(part: slice) -> None:
        for place in range(part.start, part.stop):
            with contextlib.suppress(InvalidInput):
                found[place] = refit(draw(draws[place], n_rows))

    for_row_slices(work, len(draws), slice_rows=1)
    return found


class _Sums:
    """Means and squares of matched components, updated one resample at a time (Welford)."""

    def __init__(self, reference: Floats, rescale: bool) -> None:
        self.reference, self.rescale = reference, rescale
        self.mean, self.squares = np.zeros_like(reference), np.zeros_like(reference)
        self.counts = np.zeros(len(reference), dtype=np.intp)
        self.again = np.zeros(len(reference))
        self.n_resamples = 0

    def add(self, found: tuple[Floats, Floats] | None) -> None:
        """One more resample; None if nothing was found in it."""
        self.n_resamples += 1
        if found is None:
            return
        components, values = found
        match = match_components(components, self.reference)
        rows = match.true_rows
        self.again[rows] += match.cosines >= ALIKE
        self.counts[rows] += 1
        matched = values[match.found_rows]
        if self.rescale:
            matched = match.scales[:, None] * matched
        off = matched - self.mean[rows]
        self.mean[rows] += off / self.counts[rows, None]
        self.squares[rows] += off * (matched - self.mean[rows])

    def spread(self) -> Spread:
        """Standard deviations; infinite for a component that was found once or never."""
        free = np.maximum(self.counts - 1, 0)[:, None]
        variances = np.full_like(self.squares, np.inf)
        np.divide(self.squares, free, out=variances, where=free > 0)
        returned = self.again / max(self.n_resamples, 1)
        shift = np.where(self.counts[:, None] > 0, self.mean - self.reference, 0.0)
        return Spread(np.sqrt(variances), shift, self.counts, returned, self.n_resamples)


def intervals(
    values: Floats, spread: Spread, *, unit: Floats | float = 0.0, positive: bool = True
) -> tuple[Floats, Floats]:
    """Lower and upper ends; `unit` (k, 1) is what one occurrence counts, if they rest on counts."""
    quantile = quantiles(spread.counts)[:, None]
    errors = spread.errors
    lower = values - quantile * errors
    upper = (
        values + unit * quantile**2 / 2 + quantile * np.sqrt(errors**2 + (unit * quantile / 2) ** 2)
    )
    return (np.maximum(lower, 0.0) if positive else lower), upper


def quantiles(counts: NDArray[np.intp]) -> Floats:
    """Student's, for standard errors from so many resamples."""
    found = student.ppf((1 + CONFIDENCE) / 2, np.maximum(counts - 1, 1))
    return np.asarray(found, dtype=np.float64)


def error_bars(
    values: Floats,
    spread: Spread,
    assumes: str,
    *,
    unit: Floats | float = 0.0,
    positive: bool = True,
) -> ErrorBars:
    """The record of resampled components."""
    lower, upper = intervals(values, spread, unit=unit, positive=positive)
    return ErrorBars(
        spread.errors, lower, upper, "components", assumes, spread.n_resamples, spread.returned
    )


def check_resamples(n_resamples: object) -> None:
    """Refuse a number that gives no standard error."""
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not whole or int(n_resamples) < FEWEST:  # type: ignore[call-overload]
        raise InvalidInput(
            "is not a number of resamples",
            argument="n_resamples",
            value=n_resamples,
            remedy=f"choose {FEWEST} or more; 100 give a standard error to about 7 %",
        )
