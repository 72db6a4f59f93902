"""Scores that an answer has, and its notes on the input."""

from __future__ import annotations

from provenmf.records import Answer
from provenmf.report.elements import Element, Paragraph, Table


def score_rows(answer: Answer) -> list[tuple[str, str]]:
    """What each score means, and its value."""
    return [(meaning, f"{value:.4g}") for meaning, value in answer.scores().items()]


def scores_and_notes(answer: Answer) -> list[Element]:
    """A table of the scores, if there are any, and what was done to the input."""
    rows = score_rows(answer)
    table: list[Element] = [Table("Scores", ("score", "value"), rows)] if rows else []
    return table + [
        Paragraph(note[:1].upper() + note[1:].rstrip(".") + ".", "note") for note in answer.notes
    ]
