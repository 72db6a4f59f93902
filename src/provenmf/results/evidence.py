"""Evidence on unseen rows: which components are confirmed, and how far off they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

Judgement = Literal["confirmed", "not confirmed", "cannot be judged"]
ASSUMES = "rows (or the groups that were named) are independent of each other"
LEVEL = 0.05  # error probability, corrected for the number of components, that confirms


@dataclass(frozen=True)
class Evidence:
    """What rows that were not used to find the components say about each of them.

    *Estimated*: every statement holds with its error probability if rows, or the named groups of
    rows, are independent. Nothing is assumed about their distribution.

    Parameters
    ----------
    judgements : tuple of str
        For each component "confirmed", "not confirmed" or "cannot be judged".
    error_probabilities : tuple of float
        Probability that a component which does not help to predict new rows gets this much
        evidence, corrected for the number of components.
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
    """

    judgements: tuple[str, ...]
    error_probabilities: tuple[float, ...]
    distances: tuple[float | None, ...]
    measure: str = "degrees"
    n_units: int = 0
    reason: str = ""
    noun: str = "component"
    row: str = "row"

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
        """Estimated error of each component of the whole answer, in the unit of `distances`.

        Each half is off by about √2 times as much as the whole, independently of the other half,
        so two halves differ by about twice the error of the whole.
        """
        return tuple(None if apart is None else apart / 2 for apart in self.distances)

    def sentences(self) -> list[str]:
        """Return the evidence in plain words, most important first."""
        k, many = len(self.judgements), _plural(self.noun)
        if self.reason:
            return [f"The {many} cannot be judged on unseen {self.row}s: {self.reason}."]
        real, rows = self.confirmed, f"{self.row}s that were not used to find them"
        if len(real) == k:
            who = f"The {self.noun} is" if k == 1 else f"All {k} {many} are"
            said = [f"{who} confirmed in {rows} ({self._sureness()})."]
        else:
            rest = [j for j in range(k) if j not in real]
            said = [f"{len(real)} of {k} {many} are confirmed in {rows}; {self._advice(rest)}."]
        return [*said, *self._error_sentences(real)]

    def _sureness(self) -> str:
        wrong = max(self.error_probabilities[j] for j in self.confirmed)
        return (
            "99.9 % sure" if wrong <= 0.001 else f"{math.floor(1000 * (1 - wrong)) / 10:g} % sure"
        )

    def _advice(self, rest: Sequence[int]) -> str:
        names = _listed([str(j + 1) for j in rest])
        fewer = len(self.judgements) - len(rest)
        use = f"use {fewer} {_plural(self.noun)} or merge" if fewer else "distrust"
        why = ""
        if all(self.error_probabilities[j] <= LEVEL for j in rest):
            why = f" found again in other {self.row}s"
        if len(rest) == 1:
            return f"{self.noun} {names} is not{why}: {use} it"
        return f"{_plural(self.noun)} {names} are not{why}: {use} them"

    def _error_sentences(self, real: Sequence[int]) -> list[str]:
        if not real:
            return []
        errors = {j: error for j in real if (error := self.errors[j]) is not None}
        worst = max(errors, key=errors.__getitem__)
        typical = sorted(errors.values())[len(errors) // 2]
        text = f"Found again in either half of the {self.row}s, they are about {typical:.2g} "
        text += f"{self.measure} off"
        if errors[worst] > 1.5 * typical:
            text += f", {self.noun} {worst + 1} about {errors[worst]:.2g}"
        return [f"{text}."]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            for value in [getattr(self, field.name)]
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Evidence:
        """Undo `to_dict`."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in content.items()
        }
        return cls(**given)


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = [*names[:most], *(["…"] if len(names) > most else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
