"""What can be believed about a factorization: checks, bounds, measures, and how they print."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, Literal

Status = Literal["holds", "fails", "unknown"]
Measure = float | tuple[float, ...]


@dataclass(frozen=True)
class Check:
    """One condition of one theorem, measured on this data.

    `status` is "holds" or "fails" only if that was established; a condition with a hidden
    constant is "unknown", its `value` then being the ratio to what is wanted.
    """

    name: str
    theorem: str
    status: Status
    value: float | None = None
    threshold: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.status not in ("holds", "fails", "unknown"):
            raise ValueError(f"status={self.status!r} is not 'holds', 'fails' or 'unknown'")


@dataclass(frozen=True)
class Certificate:
    """What can be believed about a factorization.

    checks : conditions of theorems with their status on this data.
    bounds : only what is proved for this data, e.g. `relative_error`.
    measures : quantities computed from data and result, with no assumption behind them.
    """

    method: str
    checks: tuple[Check, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)

    def join(self, other: Certificate) -> Certificate:
        """Put the statements of two certificates about one result together."""
        return Certificate(
            method=self.method,
            checks=self.checks + other.checks,
            bounds={**self.bounds, **other.bounds},
            measures={**self.measures, **other.measures},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: method, checks, bounds, measures."""
        return {
            "method": self.method,
            "checks": [vars(check).copy() for check in self.checks],
            "bounds": dict(self.bounds),
            "measures": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.measures.items()
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Undo `to_dict`."""
        return cls(
            method=content["method"],
            checks=tuple(Check(**check) for check in content["checks"]),
            bounds=dict(content["bounds"]),
            measures={
                name: tuple(value) if isinstance(value, list) else value
                for name, value in content["measures"].items()
            },
        )

    def __str__(self) -> str:
        return "\n".join(_certificate_lines(self))


def in_digits(value: Measure | None) -> str:
    """A number for readers; for several the range."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        finite = [v for v in value if not math.isnan(v)]
        return f"{min(finite):.4g} to {max(finite):.4g}" if finite else "-"
    return f"{value:.4g}"


def _certificate_lines(certificate: Certificate) -> list[str]:
    lines = [f"Certificate of {certificate.method}"]
    if certificate.checks:
        lines += ["", f"  {'status':8}{'condition':32}{'theorem':18}{'value':>10}{'needed':>10}"]
        for check in certificate.checks:
            value, threshold = in_digits(check.value), in_digits(check.threshold)
            lines.append(
                f"  {check.status:8}{check.name:31.31} {check.theorem:18.18}"
                f"{value:>10}{threshold:>10}"
            )
            lines += wrap(check.note, 80, initial_indent=" " * 10, subsequent_indent=" " * 10)
    for title, values in (
        ("Proved bounds", certificate.bounds),
        ("Measured", certificate.measures),
    ):
        if values:
            lines += ["", f"  {title}"]
            lines += [f"    {name:40} {in_digits(value)}" for name, value in values.items()]
    if not certificate.bounds:
        lines += ["", "  Proved bounds: none on this data"]
    return lines
