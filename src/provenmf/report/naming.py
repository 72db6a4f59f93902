"""Names of rows, columns and components, and scores, read from a record's extras."""

from __future__ import annotations

import numpy as np

from provenmf.records import Factorization
from provenmf.report.elements import Element, Paragraph, Table


def names_of(result: Factorization, extra: str, length: int, fallback: str) -> list[str]:
    """The names stored as an extra, or "word 17" and the like."""
    stored = result.extras.get(extra)
    if stored is not None and len(stored) == length:
        return [str(name) for name in stored]
    return [f"{fallback} {number + 1}" for number in range(length)]


def component_names(result: Factorization, word: str) -> list[str]:
    """Names given to the components, or "Topic 1", "Topic 2", …"""
    return names_of(result, "component_names", result.n_components, word)


def kind_of(result: Factorization) -> str:
    """What the result is about: topics, communities, unmixing, parts, or just a matrix."""
    kind = str(result.extras["kind"]) if "kind" in result.extras else "matrix"
    return kind if kind in ("topics", "communities", "unmixing", "parts") else "matrix"


# Scores by their name among the extras, and how to read them.
SCORES = {
    "coherence": "mean coherence of the topics (closer to 0 is better)",
    "similarity_count": "top words shared between topics (fewer is better)",
    "clustering_accuracy": "documents whose class is found by clustering (more is better)",
    "spearman": "rank correlation with the given memberships (1 is best)",
    "spectral_angle": "mean angle to the given spectra, in radians (0 is best)",
    "abundance_rmse": "root mean square error of the abundances (0 is best)",
}


def scores(result: Factorization) -> list[Element]:
    """A table of the scores that the application stored, if any, and its notes on the input."""
    rows = []
    for name, array in result.extras.items():
        known = SCORES.get(name) or (
            name.removeprefix("score_").replace("_", " ") if name.startswith("score_") else None
        )
        if known and np.size(array) and np.asarray(array).dtype.kind in "fiu":
            rows.append((known, f"{float(np.mean(array)):.4g}"))
    table = [Table("Scores", ("score", "value"), rows)] if rows else []
    return [*table, *notes(result)]


def notes(result: Factorization) -> list[Element]:
    """What was done to the input, in the application's own sentences."""
    return [Paragraph(str(note), "note") for note in np.ravel(result.extras.get("notes", []))]
