"""Scores that an application stored with its answer, and its notes on the input."""

from __future__ import annotations

import numpy as np

from provenmf.records import Factorization
from provenmf.report.answer import Answer
from provenmf.report.elements import Element, Paragraph, Table

# Scores by their name among the extras, and how to read them.
SCORES = {
    "coherence": "mean coherence of the topics (closer to 0 is better)",
    "similarity_count": "top words shared between topics (fewer is better)",
    "rank_correlation": "rank correlation with the known memberships (1 is best)",
    "spectral_angles": "mean angle to the given spectra, in radians (0 is best)",
    "abundance_rmse": "root mean square error of the abundances (0 is best)",
}


def score_rows(result: Factorization) -> list[tuple[str, str]]:
    """The scores that the record holds: what it means, and its (mean) value."""
    return [
        (meaning, f"{float(np.nanmean(result.extras[name])):.4g}")
        for name, meaning in SCORES.items()
        if name in result.extras and np.isfinite(result.extras[name]).any()
    ]


def scores_and_notes(result: Factorization, answer: Answer) -> list[Element]:
    """A table of the scores, if there are any, and what was done to the input."""
    rows = score_rows(result)
    table: list[Element] = [Table("Scores", ("score", "value"), rows)] if rows else []
    return table + [Paragraph(note[:1].upper() + note[1:] + ".", "note") for note in answer.notes]
