"""Choose the number of components: three criteria side by side, and a lower confidence bound.

Fits of all numbers are nested: the fit of a larger number starts from that of the smaller one and a
component drawn from its residual. They are judged by entries that were held out, by rows that did
not help to find them (`certificate.evidence`), and by singular values against noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np

from provenmf.advice.nested_fits import Floats, Job, Loss, fit_all
from provenmf.advice.number import SETTINGS as NOISE, sample, spectrum
from provenmf.arguments import checked
from provenmf.budget import generator
from provenmf.certificate.evidence import confirm_components, equal_rows, split_units
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput, counted
from provenmf.results.certificate import finite_or_none
from provenmf.results.display import plot_curves, table_lines, wrapped

UNSEEN = "unseen rows"
COUNTS = (
    "The entries are counts, judged by their Poisson likelihood: errors are shares of the deviance "
    "of a single component"
)


@dataclass(frozen=True)
class Settings:
    """Thresholds of the choice; the experiments are in `benchmarks/recovery/choose_rank.py`."""

    # Numbers tried by default: these, and up to a few more than singular values exceed the noise.
    first_ranks: int = 10
    beyond: int = 3
    most_ranks: int = 30
    repeats: int = 5  # fits with other entries held out
    held_out: float = 0.1  # share of the entries
    as_good: float = 0.01  # held-out errors within this share of the least one are as good
    judged: int = 5  # most numbers whose components are judged by unseen rows
    doubt: float = 1e-3  # error probability of the lower bound


SETTINGS = Settings()


class Criterion(NamedTuple):
    """One rank criterion: the number it suggests (None if undecided) and the reason."""

    name: str
    n_components: int | None
    reason: str


LEGEND = {
    "error": "relative error of the fit",
    "held out": "error on entries that the fit did not see, with its spread",
    "confirmed": "components that unseen rows confirm",
    "floor": "least error that any factorization of this rank can have",
    "value/noise": "singular value over its noise level",
}
# The panels of the figure: label of the axis, and the columns that it shows.
PANELS = {
    "error": ("error", "held out", "floor"),
    "components confirmed": ("confirmed",),
    "singular value / noise": ("value/noise",),
}


@dataclass(frozen=True, eq=False, repr=False)
class RankChoice:
    """The evidence for each number of components; made by `choose_rank`.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the data.
    ranks : tuple of int
        The numbers compared.
    columns : dict of str to array
        For each number: the relative "error" of the fit, the "floor" that no factorization of
        this rank is below, the error on entries "held out" and its spread "+/-" over the repeats
        (with the Poisson loss, shares of the deviance from independence); "confirmed", how many
        components rows confirm that did not help to find them; "value/noise", the singular value
        over its noise level. A value that is not known is NaN.
    at_least : int
        How many components are confirmed with an error probability of 0.1 % in all, if rows are
        independent, but no more than held-out entries or spectrum suggest; 0 if none is, or if they
        cannot be judged.
    criteria : tuple of Criterion
        What each criterion says: its number, or None, and the reason.
    notes : tuple of str
        What was done to the data.
    n_components : int or None
        The number that at least two criteria share.
    range : tuple of int or None
        The lowest and the highest number that held-out entries and the spectrum suggest.

    See Also
    --------
    choose_rank : makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import choose_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.gamma(0.5, size=(40, 2)) @ rng.gamma(0.5, size=(2, 15))
    >>> found = choose_rank(X + 0.01 * rng.random(X.shape), range(1, 5))
    >>> [criterion.name for criterion in found.criteria]
    ['held-out error', 'unseen rows', 'spectrum']
    """

    shape: tuple[int, int]
    ranks: tuple[int, ...]
    columns: dict[str, Floats]
    criteria: tuple[Criterion, ...]
    notes: tuple[str, ...] = ()
    at_least: int = 0

    @property
    def _votes(self) -> list[int]:
        return [c.n_components for c in self.criteria if c.n_components is not None]

    @property
    def n_components(self) -> int | None:
        """The number that two criteria share, or None."""
        number, count = Counter(self._votes).most_common(1)[0] if self._votes else (0, 0)
        return number if count >= 2 else None

    @property
    def range(self) -> tuple[int, int] | None:
        """The lowest and the highest number that held-out entries and spectrum suggest.

        Unseen rows confirm what they can, which is a lower bound and not a limit.
        """
        votes = [c.n_components for c in self.criteria if c.name != UNSEEN and c.n_components]
        votes = votes or [vote for vote in self._votes if vote >= self.at_least]
        return (min(votes), max(votes)) if votes else None

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        low, high = self.range or (0, 0)
        bound = (
            " Rows that were not used to find them confirm at least "
            f"{counted(self.at_least, 'component')} (99.9 % sure if rows are independent)."
        )
        bound = bound if self.at_least else ""
        if self.range is None:
            return "The evidence settles no number of components among those tried." + bound
        spread = f"{low}" if low == high else f"{low} to {high}"
        if self.n_components is None:
            return (
                f"The evidence does not settle the number of components: it supports {spread}."
                f"{bound} Look at the components of several numbers."
            )
        names = [c.name for c in self.criteria if c.n_components == self.n_components]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        said = f"{listed[:1].upper()}{listed[1:]} agree on {self.n_components} components.{bound}"
        return said if low == high else f"{said} All criteria together support {spread}."

    def plot(self) -> Any:
        """Draw all curves over the number of components as one figure.

        Returns
        -------
        matplotlib.figure.Figure
            The chosen number is marked by a line. Needs the extra `plot`.
        """
        panels = {
            label: [(n, self.ranks, _plain(self.columns[n])) for n in names if n in self.columns]
            for label, names in PANELS.items()
        }
        shown = {label: curves for label, curves in panels.items() if curves}
        return plot_curves(shown, "number of components", self.verdict, mark=self.n_components)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "shape": list(self.shape),
            "n_components": self.n_components,
            "at_least": self.at_least,
            "range": None if self.range is None else list(self.range),
            "verdict": self.verdict,
            "criteria": [criterion._asdict() for criterion in self.criteria],
            "ranks": list(self.ranks),
            "columns": {name: _plain(values) for name, values in self.columns.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        texts = [_texts(name, values) for name, values in self.columns.items()]
        rows = [[str(k), *row] for k, *row in zip(self.ranks, *texts)]
        lines = [*table_lines(["K", *self.columns], rows), ""]
        for name, k, reason in self.criteria:
            said = f"{name:16}{'-' if k is None else k:>3}  {reason}"
            lines += wrapped(said, indent=" " * 20)
        explained = "; ".join(f"{n}: {LEGEND[n]}" for n in self.columns if n in LEGEND)
        return "\n".join([*lines, "", *wrapped(explained), "", *wrapped(self.verdict, *self.notes)])

    def __repr__(self) -> str:
        return f"RankChoice(n_components={self.n_components}, range={self.range})"

    def _repr_html_(self) -> str:
        """Return the verdict, then the table, for notebooks."""
        return f"<p><b>{escape(self.verdict)}</b></p><pre>{escape(str(self))}</pre>"


@checked()
def choose_rank(
    X: object,
    ranks: Sequence[int] | None = None,
    *,
    loss: Loss | Literal["auto"] = "auto",
    random_state: int | None = 0,
    progress: Callable[[int, int], object] | None = None,
) -> RankChoice:
    """Show the evidence for each number of components.

    Factorizations of every rank are compared by their error and the least possible error, by their
    error on held-out entries, and by whether their components help to predict rows that were not
    used to find them. Singular values are compared with noise. Held-out entries, unseen rows and
    the spectrum suggest a number each; unseen rows also give a lower confidence bound.

    Parameters
    ----------
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        Rows are data points. Dense data may have missing entries (NaN); then neither unseen rows
        nor the spectrum are used. Of more than 200 000 entries a sample is judged; a note says so.
    ranks : sequence of int or None, default=None
        The numbers to compare; None uses 1 to 10, and up to 30 where more singular values exceed
        the noise, or fewer for small data. Only these numbers can be chosen.
    loss : {"auto", "least-squares", "poisson"}, default="auto"
        What the fits minimize; "auto" uses the Poisson likelihood for counts.
    random_state : int or None, default=0
        Random seed.
    progress : callable or None, default=None
        Called as progress(fits done, all fits).

    Returns
    -------
    RankChoice
        Prints as a table; `plot()` draws it.

    Raises
    ------
    InvalidInput
        The data have negative or infinite entries, or `ranks` are not numbers that they can have.

    See Also
    --------
    stability : whether resamples give the same components of one estimator.
    diagnose : which method's theory applies.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import choose_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(5 * rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.5, size=(3, 20)))
    >>> found = choose_rank(X, range(1, 6))
    >>> found.n_components
    3
    """
    rng = generator(random_state)
    blocks = as_blocks(X)
    matrix, notes = sample(blocks, rng)
    if (matrix < 0).any():
        raise InvalidInput(
            "X has negative entries, and choose_rank compares nonnegative fits: set them to zero, "
            "or look at `provenmf diagnose` (diagnose in Python), which takes negative data"
        )
    numbers = _checked_ranks(ranks, matrix.shape)
    if loss == "auto":
        whole = bool(np.all(np.nan_to_num(matrix) % 1 == 0)) and 1 < np.nanmax(matrix) < 2**53
        loss = "poisson" if whole else "least-squares"
        notes += [COUNTS] if whole else []
    if loss == "least-squares":  # errors are relative, and squares must not overflow
        matrix = matrix / np.nanmax(matrix)
    if ranks is None and numbers[-1] == SETTINGS.first_ranks and not np.isnan(matrix).any():
        above = spectrum(matrix, np.random.default_rng(0), counts=loss == "poisson").above
        most = min(above + SETTINGS.beyond, SETTINGS.most_ranks, min(matrix.shape) - 1)
        numbers = list(range(1, max(numbers[-1], most) + 1))
    columns, criteria, at_least = judge(matrix, numbers, loss, rng, progress)
    return RankChoice(
        blocks.shape, tuple(numbers), columns, tuple(criteria), tuple(notes), at_least
    )


def _checked_ranks(ranks: Sequence[int] | None, shape: tuple[int, int]) -> list[int]:
    most = min(shape) - 1
    if most < 1:
        raise InvalidInput(
            f"X has shape {shape}: the number of components has nothing to be chosen from"
        )
    if ranks is None:
        return list(range(1, min(SETTINGS.first_ranks, most) + 1))
    numbers = sorted({int(number) for number in ranks})
    if not numbers or numbers[0] < 1 or numbers[-1] > most:
        raise InvalidInput(
            f"must be whole numbers between 1 and {most}, one less than the shorter side of the "
            "matrix",
            argument="ranks",
            value=ranks,
        )
    return numbers


def judge(
    matrix: Floats,
    ranks: Sequence[int],
    loss: Loss,
    rng: np.random.Generator,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[dict[str, Floats], list[Criterion], int]:
    """Return the columns of the table, the criteria and the lower bound; NaN is missing."""
    seen, values = ~np.isnan(matrix), np.nan_to_num(matrix)
    everything, seed = np.arange(len(matrix)), int(rng.integers(2**31))
    units = equal_rows(values)
    judged = bool(seen.all()) and units.max() > 0  # rows that are all equal have no halves
    halves = split_units(units, np.random.default_rng(seed)) if judged else ()
    jobs = [Job(rows, seen[rows], seen[rows]) for rows in (everything, *halves)]
    of_evidence = len(jobs)
    for _ in range(SETTINGS.repeats):
        fitted = seen & (rng.random(matrix.shape) >= SETTINGS.held_out)
        jobs.append(Job(everything, fitted, seen & ~fitted))
    components, errors = fit_all(values, jobs, ranks, loss, progress)
    hidden = errors[of_evidence:]
    columns = {"error": errors[0], "held out": np.median(hidden, axis=0), "+/-": hidden.std(axis=0)}
    criteria = [_by_held_out(ranks, hidden)]
    if not judged:
        return columns, criteria, 0
    first = criteria[0].n_components or ranks[int(np.argmin(columns["held out"]))]

    def confirmed_at(place: int) -> tuple[int, int]:
        versions = {half[0]: components[1 + i][place] for i, half in enumerate(halves)}
        whole, counts = components[0][place], loss == "poisson"
        found = confirm_components(
            values,
            lambda rows: versions[rows[0]],
            whole,
            counts=counts,
            splits=1,
            random_state=seed,
        )
        sure = SETTINGS.doubt / len(ranks)  # which of them are judged depends on the same rows
        probabilities = [found.error_probabilities[j] for j in found.confirmed]
        return len(found.confirmed), sum(p <= sure for p in probabilities)

    columns["confirmed"], criterion, at_least = _by_unseen_rows(ranks, first, confirmed_at)
    found = spectrum(values, rng, counts=loss == "poisson", most=max(ranks) + 1)
    if loss == "least-squares":  # the least error of any product (Eckart & Young 1936)
        squares = found.values**2
        columns["floor"] = np.sqrt([squares[k:].sum() / squares.sum() for k in ranks])
    ratios = np.append(found.over_noise, [np.nan] * max(ranks))  # small data have fewer values
    columns["value/noise"] = ratios[np.array(ranks) - 1]
    last = _by_spectrum(ranks, found.above)
    # With too many components each may help beside the others of its fit, though fewer would do.
    suggested = [c.n_components for c in (*criteria, last) if c.n_components]
    return columns, [*criteria, criterion, last], min(at_least, max(suggested, default=at_least))


def _by_held_out(ranks: Sequence[int], errors: Floats) -> Criterion:
    """Take the smallest number that predicts hidden entries as well as the best one."""
    name, means = "held-out error", np.median(errors, axis=0)  # some fits end in local minima
    best = int(np.argmin(means))
    worse = np.median(errors / np.maximum(errors[:, [best]], 1e-300), axis=0)  # same masks
    chosen = int(np.argmax(worse <= 1 + SETTINGS.as_good))
    if chosen == best == len(ranks) - 1 > 0:
        return Criterion(name, None, f"still falls at {ranks[-1]}, the largest number tried")
    reason = f"smallest error on held-out entries, {means[best]:.3g}"
    if chosen != best:
        reason = f"error {means[chosen]:.3g}, as good as the smallest ({means[best]:.3g})"
    return Criterion(name, ranks[chosen], reason)


def _by_unseen_rows(
    ranks: Sequence[int], first: int, confirmed_at: Callable[[int], tuple[int, int]]
) -> tuple[Floats, Criterion, int]:
    """Take the largest number near `first` whose components are all confirmed.

    A number with all components confirmed leads to the next larger one, another one to the number
    of components that it confirms.
    """
    column, sure = np.full(len(ranks), np.nan), 0
    place = ranks.index(first)
    while 0 <= place < len(ranks) and np.isnan(column[place]):
        if np.count_nonzero(~np.isnan(column)) == SETTINGS.judged:
            break
        confirmed, certain = confirmed_at(place)
        column[place], sure = confirmed, max(sure, certain)
        if confirmed == ranks[place]:
            place += 1
        else:
            place = int(np.searchsorted(ranks, min(confirmed, ranks[place] - 1), "right")) - 1
    k = max((k for k, confirmed in zip(ranks, column) if confirmed == k), default=None)
    reason = "the largest number with all components confirmed"
    if k is None:
        reason = "at no number are all components confirmed"
    elif k == ranks[-1] and len(ranks) > 1:
        k, reason = None, f"all {k} components are confirmed at {k}, the largest number tried"
    return column, Criterion(UNSEEN, k, reason), sure


def _by_spectrum(ranks: Sequence[int], above: int) -> Criterion:
    """Take the number of singular values above the noise."""
    if above > max(ranks):
        reason = f"singular value {above} exceeds the noise, beyond the numbers tried"
    elif above == 0:
        reason = "no singular value exceeds the noise"
    else:
        return Criterion("spectrum", above, f"singular values above {NOISE.margin} times the noise")
    return Criterion("spectrum", None, reason)


def _plain(values: Floats) -> list[float | None]:
    return [finite_or_none(float(value)) for value in values]


def _texts(name: str, values: Floats) -> list[str]:
    """Format counts as integers, others to three decimals, or two digits where those are zero."""
    if name == "confirmed":
        return ["-" if np.isnan(v) else f"{v:.0f}" for v in values.tolist()]
    return [
        "-" if np.isnan(v) else f"{v:.3f}" if v == 0 or not abs(v) < 1e-2 else f"{v:.1e}"
        for v in values.tolist()
    ]
