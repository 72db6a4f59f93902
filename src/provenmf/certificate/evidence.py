"""Confirm components on unseen rows: valid whatever the distribution, if rows are independent.

The rows are split in two halves. Components are found in one half and judged in the other, and the
other way round (see `judging`). Given the first half, the gains of the rows that judge are
independent, so any test of a mean is a test of the component: nothing is used twice. Equal rows
stay in one half, because they predict each other. The e-values of both directions, and of several
splits of few rows, are averaged; Bonferroni's factor k corrects for the number of components.

A half may repeat a choice that the whole data made among m ways to find components (a start, a kind
of memberships), instead of trying them all. That choice has seen the rows that judge, so the error
probability is multiplied by m: an e-value of every way that could have been chosen has a mean ≤ 1,
and one of the m k of them exceeds m k / p with probability at most p. Weights or components of the
whole must not start a half: no such factor would correct for that.

A component is confirmed if its error probability is at most 5 % and both halves show it: their
versions have a cosine of at least .8 (.6 for topics), and each is the one most like the other among
all that its half found. A component that is another one in each half is not judged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from provenmf.certificate.judging import (
    Counts,
    Floats,
    LossOf,
    Reals,
    Rows,
    cosines,
    log_evalues,
)
from provenmf.errors import InvalidInput, counted
from provenmf.results.estimates import LEVEL, Evidence

Find = Callable[[NDArray[np.intp]], ArrayLike]
Distance = Callable[[Floats, Floats], float]

FEWEST_UNITS = 20  # rows or groups; with fewer no component could be confirmed
HAS_MISSING = "the data have missing entries; fill them in or leave out their rows"
# Splits that are averaged for at most so many units, and entries times components: there even
# three take little time. More of either cost more than the fit.
SPLITS, FEW_UNITS, LITTLE_WORK = 3, 500, 2_000_000
ALIKE = 0.8  # cosine of what two halves show, as for resampled components
BEYOND_DOUBT = 0.001  # error probability from which no more rows are asked


def confirm_components(
    X: Rows,
    find: Find,
    components: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    counts: bool = False,
    losses: Sequence[LossOf] = (),
    distance: Distance | None = None,
    measure: str = "degrees",
    entries: str = "",
    noun: str = "component",
    row: str = "row",
    unit: str = "group",
    ways: int = 1,
    alike: float = ALIKE,
    splits: int | None = None,
    random_state: int = 0,
) -> Evidence:
    """Judge every component on rows that were not used to find it.

    Parameters
    ----------
    X : array or CSR array (n, d)
        The data, in memory.
    find : callable
        Takes row numbers and returns components (k', d) found in these rows alone.
    components : array (k, d)
        Components of the whole answer; those of the halves are matched with them.
    groups : array (n,), optional
        Group of each row (patient, author, image). Groups are split instead of rows and each
        counts once, which is needed where rows of a group depend on each other.
    counts : bool
        Whether to judge by the Poisson likelihood, or by squared errors.
    losses : sequence of callable, optional
        Each makes a loss from the rows that found the components; the e-values by all of them are
        averaged. By default `Counts` or `Reals`.
    distance : callable, optional
        Distance of two components for the report; their angle in degrees by default.
    measure, entries, noun, row : str
        Unit of the distance, what it compares, names of a component and of a row, for the
        sentences.
    unit : str
        What a group is called: "tile" of pixels; empty for rows that nearly repeat each other.
    ways : int
        Ways to find components among which the whole data have chosen for `find`.
    alike : float
        Cosine from which two halves show the same component, if nothing else is nearer.
    splits : int, optional
        How many times the rows are split in halves, at most: by default three times up to 500 rows
        or groups (2 million entries times components), where one split leaves much to chance, and
        once beyond. If the first leaves no doubt of any component, it is the only one.
    random_state : int
        Seed of the splits.

    Returns
    -------
    Evidence
    """
    whole = np.asarray(components, dtype=np.float64)
    words = {"measure": measure, "entries": entries, "noun": noun, "row": row}
    data = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    units = equal_rows(data) if groups is None else numbered_units(groups, data.shape[0])
    n_units = int(units.max(initial=-1)) + 1
    what = counted(n_units, f"different {row}")
    if groups is not None and unit:
        words["units"] = f"{unit}s of {row}s"
        what = f"{counted(n_units, unit)} of {row}s"
    reason = _reason(data, n_units, what, counted(len(whole), noun), len(whole))
    if reason:
        return without_judgement(len(whole), n_units, reason, words)
    rng = np.random.default_rng(random_state)
    if not losses:
        losses = [Counts if counts else Reals]
    if splits is None:
        work = data.size * len(whole)  # of sparse data the entries stored
        splits = SPLITS if n_units <= FEW_UNITS and work <= LITTLE_WORK else 1

    def split() -> Halves:
        halves = split_units(units, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of the answer itself have been shown
            versions = [np.asarray(find(half), dtype=np.float64) for half in halves]

        def judge(side: int, number: int, asked: Sequence[int], enough: float) -> Floats:
            loss, rows = losses[number], (halves[side], halves[1 - side])
            return log_evalues(data, versions[side], *rows, units, loss, rng, asked, enough)

        return Halves(versions, judge)

    try:
        return combine(
            whole,
            (split() for _ in range(splits)),
            n_units,
            n_bets=(splits, len(losses)),
            ways=ways,
            alike=alike,
            distance=distance,
            **words,
        )
    except InvalidInput as error:
        reason = f"nothing was found in half of the {row}s ({error})"
        return without_judgement(len(whole), n_units, reason, words)


class Halves(NamedTuple):
    """Components found in two halves of the rows, and who judges them.

    `judge(side, loss, asked, enough)` returns log e-values of the components of one side that are
    asked for, by the other half; `enough` is the one from which no more rows are needed.
    """

    versions: Sequence[Floats]
    judge: Callable[[int, int, Sequence[int], float], Floats]


def combine(
    whole: Floats,
    splits: Iterable[Halves],
    n_units: int,
    *,
    n_bets: tuple[int, int] = (1, 1),
    ways: int = 1,
    alike: float = ALIKE,
    distance: Distance | None = None,
    **words: str,
) -> Evidence:
    """Match the versions of the halves with the whole and judge every component.

    The e-values of all splits, sides and losses are averaged: over all components their sum has a
    mean ≤ k, however versions are matched. A component that the halves show differently is not
    judged, and one that is beyond doubt not any more: what is left out counts as zero, and no
    e-value is below. A component is found again if most splits find it again.

    Parameters
    ----------
    whole : array (k, d)
        Components of the whole answer, or whatever they are compared by.
    splits : iterable of Halves
        What the halves found, in the same coordinates.
    n_bets : tuple of int
        Number of splits and of losses.
    n_units, ways, alike, distance, words
        As in `confirm_components`.
    """
    k, (n_splits, n_losses) = len(whole), n_bets
    enough = np.log(2 * n_splits * n_losses * ways * k / BEYOND_DOUBT)
    log_sums, matched = np.full(k, -np.inf), []
    for halves in splits:
        matches = _matched(whole, halves.versions, alike, distance or _angle)
        matched.append(matches)
        for side, loss in product(range(2), range(n_losses)):
            open_ones = [j for j in range(k) if matches[j].again and log_sums[j] < enough]
            if open_ones:
                places = [matches[j].places[side] for j in open_ones]
                log_e = halves.judge(side, loss, places, enough)
                log_sums[open_ones] = np.logaddexp(log_sums[open_ones], log_e)
        if len(matched) == 1 and (log_sums >= enough).all():
            break

    def judged(j: int) -> tuple[str, float, float | None, bool]:
        log_e = log_sums[j] - np.log(2 * n_splits * n_losses)
        wrong = min(1.0, ways * k * float(np.exp(-log_e)))
        again = 2 * sum(matches[j].again for matches in matched) > len(matched)
        apart = [one for matches in matched if (one := matches[j].distance) is not None]
        word = "confirmed" if wrong <= LEVEL and again else "not confirmed"
        return word, wrong, float(np.median(apart)) if apart else None, again

    judgements, probabilities, distances, again = zip(*map(judged, range(k)))
    found = judgements, probabilities, distances
    return Evidence(*found, n_units=n_units, found_again=again, **words)  # type: ignore[arg-type]


class _Match(NamedTuple):
    """Where the versions of a component are, whether they are alike, and how far apart."""

    places: tuple[int, ...] = ()
    again: bool = False
    distance: float | None = None


def _matched(
    whole: Floats, versions: Sequence[Floats], least: float, distance: Distance
) -> list[_Match]:
    """Return the match of every component; an empty one if a half has fewer components."""
    places = [
        dict(zip(*map(np.ndarray.tolist, linear_sum_assignment(-cosines(whole, version)))))
        for version in versions
    ]
    alike = cosines(*versions)

    def match(j: int) -> _Match:
        if not all(j in place for place in places):
            return _Match()
        here, there = (place[j] for place in places)
        nearest = alike[here, there] >= max(alike[here].max(), alike[:, there].max())
        again = bool(nearest and alike[here, there] >= least)
        return _Match((here, there), again, distance(versions[0][here], versions[1][there]))

    return [match(j) for j in range(len(whole))]


def without_judgement(k: int, n_units: int, reason: str, words: dict[str, Any]) -> Evidence:
    """Return evidence that says why no component can be judged."""
    words_for_all = ("cannot be judged",) * k
    return Evidence(words_for_all, (1.0,) * k, (None,) * k, n_units=n_units, reason=reason, **words)


def equal_rows(data: Rows) -> NDArray[np.intp]:
    """Number the distinct rows; copies of a row share its number."""
    if sp.issparse(data):
        parts = zip(data.indptr, data.indptr[1:])
        keys = [hash((data.indices[a:b].tobytes(), data.data[a:b].tobytes())) for a, b in parts]
    else:
        keys = [hash(row.tobytes()) for row in data]
    numbers: dict[int, int] = {}  # in the order of the rows: hashes differ between processes
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def numbered_units(groups: ArrayLike | None, n: int) -> NDArray[np.intp]:
    """Number the independent units: rows, or the groups that were named."""
    if groups is None:
        return np.arange(n)
    remedy = f"give one group for each of {n} rows"
    try:
        named = np.asarray(groups)
    except ValueError as error:
        raise InvalidInput(
            "groups is no list of names", argument="groups", remedy=remedy
        ) from error
    if named.shape != (n,):
        raise InvalidInput(f"groups has shape {named.shape}", argument="groups", remedy=remedy)
    names = [name for name in named.tolist() if not isinstance(name, str)]
    missing = sum(str(name) in ("None", "nan", "<NA>", "NaT") for name in names)
    if missing:
        words = f"groups has no name for {counted(missing, 'row')}"
        raise InvalidInput(words, argument="groups", remedy="give each of them a separate name")
    if named.dtype == object:  # of several types
        named = named.astype(str)
    return np.unique(named, return_inverse=True)[1].astype(np.intp)


def _reason(data: Rows, n_units: int, units: str, components: str, k: int) -> str:
    """Return why k components cannot be judged; empty if they can."""
    n, d = data.shape
    values = data.data if sp.issparse(data) else data
    if not np.isfinite(values).all():
        return HAS_MISSING
    if not values.any():
        return "all entries are zero"
    if n_units < FEWEST_UNITS:
        return f"there {'is' if n_units == 1 else 'are'} {units}, and {FEWEST_UNITS} are needed"
    need = f"{components} {'needs' if k == 1 else 'need'} at least"
    if k > n // 2:
        return f"{need} {2 * k} rows, and there are {n}"
    if d < max(k + 1, 3):
        return f"{need} {max(k + 1, 3)} columns, and the data have {d}"
    return ""


def split_units(
    units: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split the units at random; all rows of a unit stay together."""
    n_units = int(units.max()) + 1
    first = np.zeros(n_units, dtype=bool)
    first[rng.permutation(n_units)[: n_units // 2]] = True
    return np.flatnonzero(first[units]), np.flatnonzero(~first[units])


def _angle(a: Floats, b: Floats) -> float:
    cosine = float(cosines(a[None], b[None])[0, 0])
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
