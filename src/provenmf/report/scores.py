"""Scores that an answer has, and its notes."""

from __future__ import annotations

from provenmf.report.elements import Element, Paragraph, Table
from provenmf.results import Answer


def score_rows(answer: Answer) -> list[tuple[str, str]]:
    """What each score means, and its value."""
    return [(meaning, f"{value:.4g}") for meaning, value in answer.scores().items()]


def scores(answer: Answer) -> list[Element]:
    """A table of the scores, if there are any."""
    rows = score_rows(answer)
    return [Table("Scores", ("score", "value"), rows)] if rows else []


def notes(answer: Answer) -> list[Element]:
    """What was chosen automatically and what was done to the input."""
    return [
        Paragraph("Note: " + note[:1].upper() + note[1:].rstrip(".") + ".", "remark")
        for note in answer.notes
    ]
