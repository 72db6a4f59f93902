"""Standard errors of components by resampling the rows of the data.

The answer is found again in rows drawn with replacement (Efron's bootstrap), or in random halves of
the rows (Politis & Romano 1994), whose answers differ from that of all rows by as much, and which
suit answers that depend on extreme rows. Components of a resample come in any order and scale: they
are matched with those of the answer first. A component has come back if the cosine between it and
its match is at least 0.8.

Intervals reach from x − q s to x + q s with the standard error s and Student's quantile q for the
number of resamples, cut at zero where entries cannot be negative. Entries that rest on counts need
more room upwards: a word that did not occur may still occur elsewhere. If one occurrence counts u,
the upper end is that of the score interval for a Poisson variable,
x + u q²/2 + q √(s² + u² q²/4).

Noise moves components outwards: a cone must hold the rows that noise took farthest, however many
rows there are, so that small entries come out too small, and no resample of the rows shows it. A
model in which the answer is the truth shows it: its product gets the residuals again, each with a
random sign (the wild bootstrap, Wu 1986; their size corrected for the parameters that fitted them),
and is factorized. The mean change estimates the bias, and counts as an error.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from provenmf.arguments import Within, checked
from provenmf.budget import available_threads, for_row_slices
from provenmf.certificate.evidence import numbered_units, split_units
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import as_dense
from provenmf.methods.certify import estimator_of
from provenmf.methods.run import Callback, Run
from provenmf.methods.unseen_rows import evidence_on_rows
from provenmf.metrics.matching import match_components
from provenmf.results import Factorization
from provenmf.results.answers import numbered
from provenmf.results.estimates import CONFIDENCE, ErrorBars, Evidence

if TYPE_CHECKING:
    from provenmf.methods import RandomState


Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
# Components found in what was drawn, and the same entries as their spread is to be measured.
Refit = Callable[[Any], tuple[Floats, Floats]]
Draw = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class Settings:
    """Conventions of resampling."""

    alike: float = 0.8  # cosine from which a component has come back, as in consensus NMF
    fewest: int = 10  # resamples: standard errors to a quarter of themselves
    most_entries: int = 20_000_000  # of data with noise drawn anew: they are dense, 160 MB
    least_rows: int = 5  # for each component, below which rows say too little of the bias


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Spread:
    """Standard errors of resampled components around their mean.

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
    """Draw as many rows as there are, with replacement."""
    return np.sort(rng.integers(0, n_rows, n_rows))


def half_of_rows(rng: np.random.Generator, n_rows: int) -> Rows:
    """Draw half of the rows, none twice."""
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
    """Refit the components in `n_resamples` draws of the rows, in parallel.

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
        warnings.simplefilter("ignore")  # warnings of the answer itself have been shown
        for chunk in run:
            chosen = draws[chunk * at_once : (chunk + 1) * at_once]
            for found in _found_again(refit, n_rows, chosen, draw):
                sums.add(found)
            run.record(resamples=sums.n_resamples)
    return sums.spread()


def _found_again(
    refit: Refit, n_rows: int, draws: list[np.random.Generator], draw: Draw
) -> list[tuple[Floats, Floats] | None]:
    """Return the components of each draw, None where nothing can be found."""
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
        """Add a resample; None if nothing was found in it."""
        self.n_resamples += 1
        if found is None:
            return
        components, values = found
        match = match_components(components, self.reference)
        rows = match.true_rows
        self.again[rows] += match.cosines >= SETTINGS.alike
        self.counts[rows] += 1
        matched = values[match.found_rows]
        if self.rescale:
            matched = match.scales[:, None] * matched
        off = matched - self.mean[rows]
        self.mean[rows] += off / self.counts[rows, None]
        self.squares[rows] += off * (matched - self.mean[rows])

    def spread(self) -> Spread:
        """Return standard deviations, infinite for a component found at most once."""
        free = np.maximum(self.counts - 1, 0)[:, None]
        variances = np.full_like(self.squares, np.inf)
        np.divide(self.squares, free, out=variances, where=free > 0)
        returned = self.again / max(self.n_resamples, 1)
        shift = np.where(self.counts[:, None] > 0, self.mean - self.reference, 0.0)
        return Spread(np.sqrt(variances), shift, self.counts, returned, self.n_resamples)


def intervals(
    values: Floats, spread: Spread, *, unit: Floats | float = 0.0, positive: bool = True
) -> tuple[Floats, Floats]:
    """Return lower and upper ends; `unit` (k, 1) is one occurrence, for counts."""
    # Student's, for standard errors from these numbers of resamples
    quantile = student.ppf((1 + CONFIDENCE) / 2, np.maximum(spread.counts - 1, 1))[:, None]
    errors = spread.errors
    lower = values - quantile * errors
    upper = (
        values + unit * quantile**2 / 2 + quantile * np.sqrt(errors**2 + (unit * quantile / 2) ** 2)
    )
    return (np.maximum(lower, 0.0) if positive else lower), upper


def error_bars(
    values: Floats,
    spread: Spread,
    assumes: str,
    *,
    unit: Floats | float = 0.0,
    positive: bool = True,
) -> ErrorBars:
    """Return the record of resampled components."""
    lower, upper = intervals(values, spread, unit=unit, positive=positive)
    return ErrorBars(spread.errors, lower, upper, assumes, spread.n_resamples, spread.returned)


def check_resamples(n_resamples: int) -> None:
    """Refuse a number that gives no standard error."""
    if n_resamples < SETTINGS.fewest:
        raise InvalidInput(
            "is not a number of resamples",
            argument="n_resamples",
            value=n_resamples,
            remedy=f"choose {SETTINGS.fewest} or more; 100 give a standard error to about 7 %",
        )


ASSUMES = (
    "rows are drawn independently from one source, and the components found are off by chance alone"
)
NO_BIAS = (
    "the bias that noise causes is not part of the standard errors: the data have too many columns "
    "to draw them anew"
)


@checked()
def with_error_bars(
    X: Any,
    factorization: Factorization,
    n_resamples: Annotated[int, Within(0, 100_000)] = 100,
    *,
    groups: ArrayLike | None = None,
    random_state: RandomState = 0,
    callback: Callback | None = None,
) -> Factorization:
    """Add standard errors and 95 % intervals of its components to a factorization.

    The components are found again in `n_resamples` random halves of the rows, each time by the
    method and the parameters of the result; a method that has a start begins with the components
    found. They are matched with those of the result and scaled like them. A component that
    fewer than four of five halves show again is called unstable in the notes. Ten more fits, to the
    result's own product with noise like that of the data, show its bias, which counts as an error
    too. Of data with more than 20 million entries they use a sample of the rows of that size: the
    bias hardly depends on the number of rows. If these are too few, a note says so.

    What the intervals assume is tested: whether neighboring rows have similar residuals, and
    whether each component helps to predict unseen rows (see `confirm`). The notes and `assumes`
    say where the data speak against it.

    Parameters
    ----------
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        The data of the factorization.
    factorization : Factorization
        From `factorize` or an estimator.
    n_resamples : int, default=100
        At least 10. Each takes as long as a fit; several run at a time.
    groups : array (n_rows,), optional
        Group of each row (patient, image, day), where rows of a group depend on each other: halves
        of the groups are drawn instead of halves of the rows.
    random_state : int, RandomState or None, default=0
        Seed of the draws.
    callback : callable, optional
        Called with {"seconds": …, "resamples": …}; returning True ends with those made so far.

    Returns
    -------
    Factorization
        With `error_bars`, and notes that summarize them.

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
    units = numbered_units(groups, blocks.n_rows)
    if units.max() + 1 < SETTINGS.fewest:
        raise InvalidInput(
            f"has {units.max() + 1} groups",
            argument="groups",
            remedy=f"name {SETTINGS.fewest} or more, or leave out {{argument}}",
        )
    spread = resampled(
        lambda drawn: components_of(blocks.take(drawn)),
        found,
        blocks.n_rows,
        n_resamples,
        rng,
        rescale=True,
        draw=half_of_rows if groups is None else lambda rng, _: split_units(units, rng)[0],
        callback=callback,
    )
    # The mean shift of halves from the answer estimates the answer's own shift from the truth.
    errors = np.hypot(spread.errors, spread.shift)
    rows = rows_for_bias(blocks.shape, len(found), rng)
    if rows is not None:
        part = as_dense(blocks.take(rows) if len(rows) < blocks.n_rows else blocks.everything())
        noisy = drawn_with_noise(part, factorization.weights[rows], factorization.components)
        shifts = resampled(
            components_of, found, len(rows), SETTINGS.fewest, rng, rescale=True, draw=noisy
        )
        errors = np.hypot(errors, shifts.shift)
    spread = replace(spread, errors=errors)
    doubts = _doubts(evidence_on_rows(blocks, factorization, groups, seed))
    assumes = "; but ".join([ASSUMES, *doubts])
    bars = error_bars(found, spread, assumes, positive=bool(found.min() >= 0))
    notes = bars.notes(numbered("Component", len(found)))
    if rows is None:
        notes = (*notes, NO_BIAS)
    return replace(factorization, error_bars=bars, notes=(*factorization.notes, *notes))


def _doubts(evidence: Evidence) -> list[str]:
    """Name what the intervals assume and the data do not support."""
    rest = [str(j + 1) for j, word in enumerate(evidence.judgements) if word == "not confirmed"]
    alike = (
        f"{evidence.doubt}: name the groups that belong together, or the intervals are too narrow"
    )
    return [
        *([alike] if evidence.doubt else []),
        *([f"unseen rows do not confirm component {', '.join(rest)}"] if rest else []),
    ]


def rows_for_bias(
    shape: tuple[int, int], k: int, rng: np.random.Generator
) -> NDArray[np.intp] | None:
    """Return all rows, or as many as can be resampled; None if they are too few."""
    n, d = shape
    if n * d <= SETTINGS.most_entries:
        return np.arange(n)
    fit = SETTINGS.most_entries // d
    return np.sort(rng.choice(n, fit, replace=False)) if fit >= SETTINGS.least_rows * k else None


def drawn_with_noise(
    data: NDArray[np.floating], weights: NDArray[np.floating], components: NDArray[np.floating]
) -> Draw:
    """Return draws of the product of the factors plus residuals with random signs.

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
