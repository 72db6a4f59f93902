"""Estimated statements: evidence on unseen rows, and error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.results.states import Shape

Floats = NDArray[np.float64]
LARGE = {"degrees": 15.0, "%": 20.0}  # errors beyond which details are not to be read
NEGLIGIBLE = 0.1  # smaller errors, in degrees or percent, are not told exactly
LEVEL = 0.05  # error probability, corrected for the number of components, that confirms
CONFIDENCE = 0.95
# A component that fewer of the resamples show again than this is called unstable.
STABLE = 0.8
SINGULAR = {"spectra": "spectrum", "profiles": "profile"}  # entries that a component has one of


@dataclass(frozen=True)
class Evidence:
    """Evidence for each component from rows that were not used to find it.

    *Estimated*: every statement holds with its error probability if rows, or the named groups of
    rows, are independent. Nothing is assumed about their distribution.

    Parameters
    ----------
    judgements : tuple of str
        For each component "confirmed", "not confirmed" or "cannot be judged".
    error_probabilities : tuple of float
        Probability that a component which does not help to predict new rows gets this much
        evidence, corrected for the number of components; 1 for those that are not judged because
        the halves show different ones.
    distances : tuple of float or None
        Distance between the versions of each component that the two halves of the rows show;
        None where one half does not show it.
    measure : str
        What `distances` are, such as "degrees" or "L1 distance".
    n_units : int
        Number of independent rows or groups.
    reason : str
        Why nothing can be judged; empty otherwise.
    noun : str
        What a component is called: "topic", "material", …
    row : str
        What a row is called: "document", "pixel", …
    entries : str
        What `distances` compare: "word probabilities", "spectra", …; empty for components as such.
    sampled_from : int
        Number of rows of which a random sample was judged; 0 if all were.
    units : str
        What is taken to be independent: "groups of documents", …; empty for the rows.
    doubt : str
        What in the data speaks against that; empty if nothing does.
    found_again : tuple of bool
        Whether both halves of the rows show each component; empty if nothing can be judged.
    """

    judgements: tuple[str, ...]
    error_probabilities: tuple[float, ...]
    distances: tuple[float | None, ...]
    measure: str = "degrees"
    n_units: int = 0
    reason: str = ""
    noun: str = "component"
    row: str = "row"
    entries: str = ""
    sampled_from: int = 0
    units: str = ""
    doubt: str = ""
    found_again: tuple[bool, ...] = ()

    @property
    def assumes(self) -> str:
        """Assumption about the data, in words."""
        return f"{self.units or plural(self.row)} are independent"

    def __post_init__(self) -> None:
        judged = () if self.reason else (self.found_again,)
        lengths = {len(some) for some in (self.error_probabilities, self.distances, *judged)}
        if lengths != {len(self.judgements)}:
            raise InvalidInput("the evidence speaks of different numbers of components")

    @property
    def confirmed(self) -> tuple[int, ...]:
        """Numbers of the confirmed components, counted from 0."""
        return tuple(j for j, word in enumerate(self.judgements) if word == "confirmed")

    @property
    def confidence(self) -> float:
        """Confidence that every confirmed component helps to predict new rows."""
        return 1.0 - max((self.error_probabilities[j] for j in self.confirmed), default=1.0)

    @property
    def errors(self) -> tuple[float | None, ...]:
        """Estimated error of each component of the answer, in the unit of `distances`.

        By chance, each half is off by about √2 times as much as the whole, independently of the
        other half, so two halves differ by about twice the error of the whole. A bias that both
        halves have does not show. The applications have little of it: in nine of ten components
        of drawn data the true error is at most twice the estimate, by
        `benchmarks/recovery/evidence.py errors`. Alternating methods on clipped noise have more.
        """
        return tuple(None if apart is None else apart / 2 for apart in self.distances)

    def sentences(self) -> list[str]:
        """Return the evidence in plain words, most important first, with what to do."""
        k, many = len(self.judgements), plural(self.noun)
        if self.reason:
            who = self.noun if k == 1 else many
            return [f"The {who} cannot be judged on unseen {self.row}s: {self.reason}."]
        real, rows = self.confirmed, f"{self.row}s that were not used to find {_them(k)}"
        fewer = f"try {'' if k == 1 else f'fewer {many} or '}more {self.row}s"
        if not real and not any(self.found_again):
            who = f"The {self.noun} is" if k == 1 else f"The {k} {many} are"
            return [
                f"{who} not the same in two halves of the {self.row}s: do not interpret "
                f"{_them(k)}; {fewer}."
            ]
        if not real:
            few = {1: f"The {self.noun} is not", 2: f"Neither {self.noun} is"}
            who = few.get(k, f"None of the {k} {many} is")
            again = [j for j in range(k) if self.found_again[j]]
            shown = f", though both halves show {self._named(again)}" if len(again) < k else ""
            if len(again) == k > 1:
                shown = ", though both halves show the same ones"
            return [f"{who} confirmed in {rows}{shown}: do not interpret {_them(k)}; {fewer}."]
        percent = min(math.floor(1000 * self.confidence) / 10, 99.9)
        sure = f"confirmed in {rows} ({percent:g} % sure if {self.assumes})"
        dependent = "so they may not be independent: name the groups that belong together"
        more = [f"{self.doubt}, {dependent}."] if self.doubt else []
        more += self._error_sentences(real)
        if len(real) == k:
            who = {1: f"The {self.noun} is", 2: f"Both {many} are"}.get(k, f"All {k} {many} are")
            return [f"{who} {sure}.", *more]
        verb = "is" if len(real) == 1 else "are"
        advice = "; ".join(text for text in (self._differing(), self._needless()) if text)
        return [f"{len(real)} of {k} {many} {verb} {sure}; {advice}.", *more]

    def in_words(self, j: int) -> str:
        """Return the judgement of a component, or why it was not judged."""
        differs = not self.reason and not self.found_again[j]
        return "differs between halves" if differs else self.judgements[j]

    def _differing(self) -> str:
        """Name the components that are not the same in both halves, and say what to do."""
        rest = [j for j, again in enumerate(self.found_again) if not again]
        if not rest:
            return ""
        k, many = len(self.judgements), plural(self.noun)
        use = f"use {k - len(rest)} {self.noun if k - len(rest) == 1 else many}"
        if len(rest) > k // 4:  # the others would not stay as they are
            use = f"try fewer {many} or more {self.row}s"
        return (
            f"{self._named(rest)} differ{'s' if len(rest) == 1 else ''} between halves of the "
            f"{self.row}s: do not interpret {_them(len(rest))}, or {use}"
        )

    def _needless(self) -> str:
        """Name the components that both halves show but few rows need, and say what to do."""
        rest = [j for j in range(len(self.judgements)) if self.found_again[j]]
        rest = [j for j in rest if j not in self.confirmed]
        if not rest:
            return ""
        verb, them = "is" if len(rest) == 1 else "are", _them(len(rest))
        return (
            f"{self._named(rest)} {verb} the same in both halves, but few {self.row}s need {them}: "
            f"use more {self.row}s or fewer {plural(self.noun)}"
        )

    def _named(self, rest: Sequence[int]) -> str:
        noun = self.noun if len(rest) == 1 else plural(self.noun)
        return f"{noun} {_listed([str(j + 1) for j in rest])}"

    def size_of_error(self, error: float) -> str:
        """Return an error in words, such as "about 8.9 %"."""
        if error < NEGLIGIBLE:
            return f"less than {NEGLIGIBLE:g} {self.measure}"
        unit = "degree" if self.measure == "degrees" and f"{error:.2g}" == "1" else self.measure
        return f"about {error:.2g} {unit}"

    def _error_sentences(self, real: Sequence[int]) -> list[str]:
        errors = {j: error for j in real if (error := self.errors[j]) is not None}
        worst = max(errors, key=errors.__getitem__)
        typical = sorted(errors.values())[len(errors) // 2]
        which = "the " if len(real) == len(self.judgements) else "the confirmed "
        who = f"{which}{self.noun if len(real) == 1 else plural(self.noun)}"
        largest = f" ({self.noun} {worst + 1}: {errors[worst]:.2g})"
        largest = largest if errors[worst] > max(1.5 * typical, NEGLIGIBLE) else ""
        size = self.size_of_error(typical)
        shown = f"as two halves of the {self.row}s show"
        if self.entries:
            one = len(real) == 1 and self.entries in SINGULAR
            what = (
                f"{SINGULAR[self.entries]} of {who} is" if one else f"{self.entries} of {who} are"
            )
            text = f"The {what} {size} off{largest}, rarely twice as much, {shown}"
        else:
            who = f"{which}{self.noun} is" if len(real) == 1 else f"{who} are"
            text = (
                f"{who[0].upper()}{who[1:]} {size} off by chance{largest}, {shown}, plus any bias "
                "that both halves share"
            )
        if typical > LARGE.get(self.measure, math.inf):
            text += f": rely on the largest entries only, or use more {self.row}s"
        return [f"{text}."]


def plural(word: str) -> str:
    """Return the plural of a word: `topics`, `communities`, `days`."""
    changes = word.endswith("y") and word[-2:-1] not in "aeiou"
    return f"{word[:-1]}ies" if changes else f"{word}s"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as in "1, 2 and 3"; of many the first ones and the number of the others."""
    if len(names) == 1:
        return names[0]
    shown, last = list(names[:-1]), names[-1]
    if len(names) > most:
        shown, last = list(names[: most - 1]), f"{len(names) - most + 1} others"
    return f"{', '.join(shown)} and {last}"


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """Standard errors and intervals of each entry of the components, under stated assumptions.

    Parameters
    ----------
    standard_errors : ndarray of shape (rows, columns)
        From resamples.
    lower, upper : ndarray of shape (rows, columns)
        Ends of the interval that holds the truth with the probability `confidence`, entry by entry.
    assumes : str
        What must be true of the data.
    n_resamples : int
        How many times the answer was found again.
    returned : ndarray of shape (k,)
        Share of the resamples in which each component came back.
    confidence : float
        0.95.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.results.estimates import ErrorBars
    >>> one = np.ones((2, 3))
    >>> bars = ErrorBars(one, 0 * one, 4 * one, "", 10, np.array([1.0, 0.3]))
    >>> bars.unstable
    (1,)
    """

    standard_errors: Annotated[Floats, Shape("rows", "columns")]
    lower: Annotated[Floats, Shape("rows", "columns")]
    upper: Annotated[Floats, Shape("rows", "columns")]
    assumes: str
    n_resamples: int
    returned: Annotated[Floats, Shape("k")]
    confidence: float = CONFIDENCE

    def __str__(self) -> str:
        known = self.standard_errors[np.isfinite(self.standard_errors)]
        if not known.size:
            return "nothing is known of the errors of the components"
        return (
            f"standard errors of the components by {self.n_resamples} resamples: median "
            f"{np.median(known):.2g}, largest {known.max():.2g}; intervals of "
            f"{self.confidence:.0%} in lower and upper, if {self.assumes}"
        )

    @property
    def unstable(self) -> tuple[int, ...]:
        """Components that fewer than four of five resamples find again."""
        return tuple(int(j) for j in np.flatnonzero(self.returned < STABLE))

    def notes(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Describe how the errors were found, and each component that does not come back."""
        known = np.isfinite(self.standard_errors)
        how = (
            f"{self.n_resamples} resamples: the components have standard errors of "
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
