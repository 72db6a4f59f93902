"""Elements of a page as plain data; the template draws each by the name of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from provenmf.report.figures import Figure


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences; `tone` may stress them ("good", "bad", "note")."""

    text: str
    tone: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure with a caption that says how to read it.

    Where the title names a component, `component` is its number, counted from 1.
    """

    title: str
    figure: Figure
    caption: str = ""
    height: int = 380
    half: bool = False
    component: int = 0


@dataclass(frozen=True)
class ChartGrid:
    """Small charts side by side, one under the other on a phone."""

    title: str
    charts: Sequence[Chart]
    caption: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text or numbers under a header; `unbroken` cells have no line breaks.

    Readers filter the rows by `components`; `of` is the one of each row, counted from 1.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    unbroken: bool = False
    components: Sequence[str] = ()
    of: Sequence[int] = ()


@dataclass(frozen=True)
class Bar:
    """A label with a value; `length` in 0 … 1; `marked` for an anchor.

    whisker : both ends of the interval that the length stands in, where one is estimated.
    """

    label: str
    value: str
    length: float
    marked: bool = False
    whisker: tuple[float, float] | None = None


@dataclass(frozen=True)
class Example:
    """A data point that shows a component well."""

    name: str
    text: str
    value: str


@dataclass(frozen=True)
class Card:
    """One component: its largest entries as bars, and examples.

    `words` are found by the search box although they are not shown; `component` as in `Chart`.
    """

    title: str
    subtitle: str
    bars: Sequence[Bar]
    examples: Sequence[Example] = field(default_factory=tuple)
    words: str = ""
    component: int = 0


@dataclass(frozen=True)
class Cards:
    """All components, one card each."""

    title: str
    cards: Sequence[Card]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """An image inside the page (a data URI) and what it shows."""

    source: str
    name: str
    note: str = ""
    component: int = 0


@dataclass(frozen=True)
class Gallery:
    """Pictures in rows; `half` for one large picture with something else beside it."""

    title: str
    pictures: Sequence[Picture]
    caption: str = ""
    half: bool = False


@dataclass(frozen=True)
class Overview:
    """One line of the first screen: a component, its size, what it is, and the evidence for it."""

    component: int
    name: str
    share: str
    largest: str
    mark: str = ""
    evidence: str = ""


Element = Paragraph | Chart | ChartGrid | Table | Cards | Gallery


@dataclass(frozen=True)
class Tab:
    """One tab of the page."""

    name: str
    title: str
    elements: Sequence[Element]
