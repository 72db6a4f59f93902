"""Outcomes as files: NAME.json, NAME-<table>.csv, NAME.html."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from provenmf.errors import InvalidInput
from provenmf.io import write_aside
from provenmf.io.records import strict_json
from provenmf.report import figures
from provenmf.report.elements import Chart, Element, Paragraph, Tab, Table
from provenmf.report.page import page
from provenmf.reproduce.experiment import Experiment, Figure, Outcome, Row
from provenmf.reproduce.stored import Stored, cell, columns_of


@dataclass(frozen=True)
class Result:
    """An experiment that was run, and how."""

    experiment: Experiment
    outcome: Outcome
    quick: bool
    seed: int
    seconds: float

    def to_dict(self) -> Stored:
        """Plain data for JSON; what is not finite becomes text."""
        experiment, outcome = self.experiment, self.outcome
        content = {
            "name": experiment.name,
            "paper": experiment.paper,
            "title": experiment.title,
            "claim": experiment.claim,
            "verdict": outcome.verdict,
            "holds": outcome.holds,
            "quick": self.quick,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
            "tables": outcome.tables,
            "figures": [asdict(figure) for figure in outcome.figures],
        }
        stored: Stored = json.loads(json.dumps(content, default=_plain))
        return stored


def _plain(value: object) -> object:
    """Numpy numbers and arrays as JSON knows them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def write_result(result: Result, folder: Path) -> list[Path]:
    """Write all files of a result; returns their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}): choose another"
        ) from error
    name = result.experiment.name
    files = {folder / f"{name}.html": page_of(result)}
    files[folder / f"{name}.json"] = strict_json(result.to_dict())
    for title, rows in result.outcome.tables.items():
        files[folder / f"{name}-{file_name(title)}.csv"] = _csv(rows)
    for path, text in files.items():
        write_text(path, text)
    return list(files)


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    write_aside(path, lambda file: file.write(text.encode()))


def page_of(result: Result) -> str:
    """The outcome as one offline HTML page."""
    experiment, outcome = result.experiment, result.outcome
    tone = {True: "good", False: "bad", None: "note"}[outcome.holds]
    elements: list[Element] = [
        Paragraph(f"The paper's claim: {experiment.claim}"),
        Paragraph(outcome.verdict, tone),
        *(Chart(figure.title, draw(figure), height=420) for figure in outcome.figures),
        *(_table(title, rows) for title, rows in outcome.tables.items()),
        Paragraph(
            f"{'Quick size' if result.quick else 'Full size'}, seed {result.seed}, "
            f"{result.seconds:.1f} s."
        ),
    ]
    title = f"{experiment.paper}: {experiment.title}"
    return page(title, [Tab("outcome", "Outcome", elements)])


def draw(figure: Figure) -> figures.Lines:
    """A figure of an outcome for the page; the paper's own curves are dotted."""
    return figures.Lines(
        [(series.name, list(series.x), series.y) for series in figure.series],
        figure.x_label,
        figure.y_label,
        log_x=figure.log_x,
        log_y=figure.log_y,
        dotted=[series.name for series in figure.series if series.paper],
    )


def _table(title: str, rows: list[Row]) -> Table:
    columns = columns_of(rows)
    return Table(title, columns, [[cell(row.get(name)) for name in columns] for row in rows])


def _csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def file_name(title: str) -> str:
    """A title as part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower())[:80].strip("-") or "table"
