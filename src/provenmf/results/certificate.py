"""What can be believed about a factorization: checks, bounds, estimates, measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from provenmf.results.evidence import Evidence
from provenmf.results.statements import meaning, proved

Status = Literal["holds", "fails", "unknown"]
Direction = Literal["<=", ">="]
Measure = float | tuple[float | None, ...]


@dataclass(frozen=True)
class Check:
    """One condition of one theorem, measured on this data.

    Parameters
    ----------
    name : str
        The condition.
    theorem : str
        Where it comes from.
    status : {"holds", "fails", "unknown"}
        "holds" or "fails" only if that was established; a condition with a hidden constant is
        "unknown", its `value` then being the ratio to what is wanted.
    value, threshold : float or None
        What was measured, and what it is compared with; numbers that are not finite say nothing
        and become None.
    note : str
        What the numbers are, or which piece is missing.
    direction : {"<=", ">="}
        On which side of the threshold the value must be.
    in_words : str
        One sentence for the verdict, in the words of a reader who does not know the theorem;
        empty if the verdict can do without.

    Examples
    --------
    >>> from provenmf.results import Check
    >>> Check("rows inside", "a lemma", "holds", 0.1, 0.2).direction
    '<='
    """

    name: str
    theorem: str
    status: Status
    value: float | None = None
    threshold: float | None = None
    note: str = ""
    direction: Direction = "<="
    in_words: str = ""

    def __post_init__(self) -> None:
        if self.status not in ("holds", "fails", "unknown"):
            raise ValueError(f"status={self.status!r} is not 'holds', 'fails' or 'unknown'")
        if self.direction not in ("<=", ">="):
            raise ValueError(f"direction={self.direction!r} is not '<=' or '>='")
        object.__setattr__(self, "value", finite_or_none(self.value))
        object.__setattr__(self, "threshold", finite_or_none(self.threshold))


@dataclass(frozen=True)
class Estimate:
    """A statistical statement: not proved for this data, but right with some confidence.

    Parameters
    ----------
    value : float
        The number stated.
    confidence : float
        With which probability the statement is right, if what it assumes is.
    assumes : str
        What must be true of the data, e.g. "new rows come from where the old ones came from".
    """

    value: float
    confidence: float
    assumes: str


@dataclass(frozen=True)
class Certificate:
    """What can be believed about a factorization, three kinds of statement never mixed.

    Numbers that are not finite say nothing and are left out of bounds and measures.

    Parameters
    ----------
    method : str
        The method whose result this is about.
    checks : tuple of Check
        Conditions of theorems with their status on this data.
    bounds : mapping of str to float
        *Proved*: only what follows for this data, e.g. `relative_error_gap`.
    measures : mapping of str to float or tuple of floats
        *Measured*: computed from data and result, with no assumption behind them.
    estimates : mapping of str to Estimate
        *Estimated*: statistical, each with its confidence and what it assumes.
    evidence : Evidence or None
        *Estimated*: what rows that were not used to find them say about the components.
    recomputed : bool
        Whether this was computed here, from the data, rather than read from a file.

    Examples
    --------
    >>> from provenmf.results import Certificate
    >>> Certificate("spa", measures={"relative_error": 0.25}).verdict
    'The relative error is 0.25. Nothing is proved about the parts themselves on this data.'
    """

    method: str
    checks: tuple[Check, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    evidence: Evidence | None = None
    recomputed: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", _finite(self.bounds))
        object.__setattr__(self, "measures", _finite(self.measures))
        estimates = {
            name: value for name, value in self.estimates.items() if math.isfinite(value.value)
        }
        object.__setattr__(self, "estimates", estimates)

    @property
    def verdict(self) -> str:
        """The certificate in plain words, the most important first."""
        from provenmf.results.verdict import verdict

        return verdict(self)

    def join(self, other: Certificate) -> Certificate:
        """Put the statements of two certificates about one result together."""
        return Certificate(
            method=self.method,
            checks=self.checks + other.checks,
            bounds={**self.bounds, **other.bounds},
            measures={**self.measures, **other.measures},
            estimates={**self.estimates, **other.estimates},
            evidence=self.evidence or other.evidence,
            recomputed=self.recomputed and other.recomputed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: verdict, statements, and a sentence for each number."""
        return {
            "verdict": self.verdict,
            "method": self.method,
            "checks": [vars(check).copy() for check in self.checks],
            "bounds": dict(self.bounds),
            "measures": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.measures.items()
            },
            "estimates": {name: vars(value).copy() for name, value in self.estimates.items()},
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "meanings": self.meanings(),
        }

    def meanings(self) -> dict[str, str]:
        """Return a sentence for each number, by its name."""
        measured = {name: meaning(name) for name in (*self.measures, *self.estimates)}
        return measured | {name: proved(name) for name in self.bounds}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Undo `to_dict`; the result is marked as not recomputed. The verdict is formed anew."""
        estimates = content.get("estimates", {})
        evidence = content.get("evidence")
        return cls(
            method=content["method"],
            checks=tuple(Check(**check) for check in content["checks"]),
            bounds=dict(content["bounds"]),
            measures={
                name: tuple(value) if isinstance(value, list) else value
                for name, value in content["measures"].items()
            },
            estimates={name: Estimate(**value) for name, value in estimates.items()},
            evidence=None if evidence is None else Evidence.from_dict(evidence),
            recomputed=False,
        )

    def __str__(self) -> str:
        from provenmf.results.verdict import printed

        return printed(self)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the verdict, with everything else to unfold."""
        from provenmf.results.display import certificate_html

        return certificate_html(self)


def finite_or_none(value: float | None) -> float | None:
    """Return the number, or None where it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def in_digits(value: Measure | None) -> str:
    """Return a number for readers; for several the range."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        known = [v for v in value if v is not None]
        return f"{min(known):.4g} to {max(known):.4g}" if known else "-"
    return f"{value:.4g}"


def rounded_up(value: float, digits: int = 2) -> str:
    """Round a positive number up to a few digits: what is "at most" this stays true."""
    return _rounded(value, digits, "ROUND_CEILING")


def rounded_down(value: float, digits: int = 4) -> str:
    """Round a positive number down to a few digits: what is "at least" this stays true."""
    return _rounded(value, digits, "ROUND_FLOOR")


def _rounded(value: float, digits: int, towards: Literal["ROUND_CEILING", "ROUND_FLOOR"]) -> str:
    exact = Decimal(repr(value))  # as written, which stands for the same number
    last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(last, rounding=towards)):.{digits}g}" if value > 0 else "0"


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return finite numbers only; in a tuple the others become None, to keep the places."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            kept[name] = tuple(finite_or_none(v) for v in value)
        elif finite_or_none(value) is not None:
            kept[name] = float(value)
    return kept
