"""Outcomes as files, NAME.json and NAME.html, and those shipped with the package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provenmf import __version__
from provenmf.errors import InvalidInput
from provenmf.reproduce.claims import Experiment, Judgement, Measured, Row, columns_of, verdict_of

if TYPE_CHECKING:
    from provenmf.report.elements import Table

RECORD = "recorded.json"
CLAUSES = "Clauses"
Stored = dict[str, Any]  # a result as JSON knows it


@dataclass(frozen=True)
class Result:
    """An experiment that was run, and how."""

    experiment: Experiment
    measured: Measured
    quick: bool
    seed: int
    seconds: float

    @property
    def judgements(self) -> list[Judgement]:
        """The decision on each clause."""
        return self.experiment.judge(self.measured.tables, quick=self.quick)

    @property
    def verdict(self) -> str:
        """The decision on the whole claim."""
        return verdict_of(self.judgements)

    def to_dict(self) -> Stored:
        """Convert to plain JSON data."""
        content = {
            "name": self.experiment.name,
            "verdict": self.verdict,
            "quick": self.quick,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
            "version": __version__,
            "clauses": [judgement.row() for judgement in self.judgements],
            "note": self.experiment.note,
            "tables": self.measured.tables,
            "figures": [asdict(figure) for figure in self.measured.figures],
        }
        stored: Stored = json.loads(json.dumps(content, default=_plain))
        return stored


def _plain(value: object) -> object:
    """Convert NumPy numbers and arrays to JSON types."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def judge_again(experiment: Experiment, stored: Stored) -> Stored:
    """Judge stored measurements by the clauses as they are now."""
    judgements = experiment.judge(stored["tables"], quick=stored["quick"])
    rows = [judgement.row() for judgement in judgements]
    return {**stored, "verdict": verdict_of(judgements), "clauses": rows, "note": experiment.note}


def write_result(result: Result, folder: Path) -> list[Path]:
    """Write all files of a result; returns their paths."""
    from provenmf.io.records import strict_json

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}): choose another"
        ) from error
    name = result.experiment.name
    files = {folder / f"{name}.html": page_of(result).encode()}
    files[folder / f"{name}.json"] = strict_json(result.to_dict()).encode()
    for path, content in files.items():
        write_file(path, content)
    return list(files)


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    from provenmf.io.files import write_aside

    write_aside(path, lambda file: file.write(content))


def page_of(result: Result) -> str:
    """Render the outcome as a self-contained HTML page."""
    from provenmf.report.elements import Element, Gallery, Paragraph, Picture, Tab
    from provenmf.report.figures import data_uri
    from provenmf.report.page import page

    experiment, verdict = result.experiment, result.verdict
    tone = {"holds": "good", "does not hold": "bad"}.get(verdict, "note")
    size = "Quick size" if result.quick else "Full size"
    elements: list[Element] = [
        Paragraph(f"The claim {verdict}.", tone),
        _table(CLAUSES, [judgement.row() for judgement in result.judgements]),
        *([Paragraph(experiment.note)] if experiment.note else []),
        *result.measured.figures,
        *(
            Gallery(name, [Picture(data_uri(i), str(n)) for n, i in enumerate(images, start=1)])
            for name, images in result.measured.pictures.items()
        ),
        *(_table(title, rows) for title, rows in result.measured.tables.items()),
        Paragraph(f"{size}, seed {result.seed}, {result.seconds:.1f} s."),
    ]
    title = f"{experiment.paper}: {experiment.title}"
    return page(title, [Tab("outcome", "Outcome", elements)])


def _table(title: str, rows: list[Row]) -> Table:
    from provenmf.report.elements import Table

    columns = columns_of(rows)
    return Table(title, columns, [[cell_text(row.get(name)) for name in columns] for row in rows])


def cell_text(value: object) -> str:
    """Format a value for readers."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def read_results(folder: Path) -> dict[str, Stored]:
    """Read the outcomes in a folder by name; other files are ignored."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError:
            continue
        if isinstance(content, dict) and {"name", "verdict", "tables"} <= content.keys():
            found[content["name"]] = content
    return found


def read_record() -> dict[str, Stored]:
    """Read the outcomes shipped with the package: measurements, clauses and verdicts."""
    text = resources.files("provenmf.reproduce").joinpath(RECORD).read_text("utf-8")
    record: dict[str, Stored] = json.loads(text)
    return record


def record_of(results: Mapping[str, Stored]) -> str:
    """Format outcomes for the package: everything except curves, numbers to four digits."""
    kept = {
        name: {key: value for key, value in result.items() if key != "figures"}
        for name, result in results.items()
    }
    short = json.dumps(_rounded(kept), ensure_ascii=False)
    return re.sub(r'(\{"(?:clause|name|method|topic)"|"tables")', r"\n\1", short) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value
