"""What a page is made of, as plain data; the template gives each element its looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from provenmf.report.figures import Figure


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences; `tone` may stress them ("good", "bad", "note")."""

    text: str
    tone: str = ""
    element: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Chart:
    """A figure with a caption that says how to read it."""

    title: str
    figure: Figure
    caption: str = ""
    height: int = 380
    narrow: bool = False
    element: ClassVar[str] = "chart"


@dataclass(frozen=True)
class ChartGrid:
    """Small charts side by side, one under the other on a phone."""

    title: str
    charts: Sequence[Chart]
    caption: str = ""
    element: ClassVar[str] = "chart_grid"


@dataclass(frozen=True)
class Table:
    """Rows of text or numbers under a header."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    element: ClassVar[str] = "table"


@dataclass(frozen=True)
class Bar:
    """A label with a value; `length` in 0 … 1; `marked` for an anchor."""

    label: str
    value: str
    length: float
    marked: bool = False


@dataclass(frozen=True)
class Example:
    """A data point that shows a component well."""

    name: str
    text: str
    value: str


@dataclass(frozen=True)
class Card:
    """One component: its largest entries as bars, and examples."""

    title: str
    subtitle: str
    bars: Sequence[Bar]
    examples: Sequence[Example] = field(default_factory=tuple)


@dataclass(frozen=True)
class Cards:
    """All components, one card each."""

    title: str
    cards: Sequence[Card]
    caption: str = ""
    element: ClassVar[str] = "cards"


@dataclass(frozen=True)
class Picture:
    """An image inside the page (a data URI) and what it shows."""

    source: str
    name: str
    note: str = ""


@dataclass(frozen=True)
class Gallery:
    """Pictures in rows."""

    title: str
    pictures: Sequence[Picture]
    caption: str = ""
    element: ClassVar[str] = "gallery"


@dataclass(frozen=True)
class Statement:
    """One check of the certificate in plain words."""

    status: str
    name: str
    theorem: str
    measured: str
    note: str


@dataclass(frozen=True)
class Statements:
    """Checks of one status."""

    title: str
    statements: Sequence[Statement]
    caption: str = ""
    element: ClassVar[str] = "statements"


Element = Paragraph | Chart | ChartGrid | Table | Cards | Gallery | Statements


@dataclass(frozen=True)
class Tab:
    """One tab of the page."""

    name: str
    title: str
    elements: Sequence[Element]
