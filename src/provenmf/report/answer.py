"""The answer inside a record: what the rows, columns and components mean to its user.

An application factorizes a matrix of its own making (words in projected coordinates, groups of
pixels, …) and keeps the answer in the record's extras. This is the one place that knows their
names; without extras a record is its own answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.records import Factorization

# What a component, a row and a column are called.
WORDS = {
    "topics": ("Topic", "document", "word"),
    "communities": ("Community", "node", "node"),
    "unmixing": ("Material", "pixel", "band"),
    "parts": ("Part", "image", "pixel"),
    "matrix": ("Component", "row", "column"),
}
# Where the extras keep the answer: weights, components, anchors, names of rows, of columns.
PLACES = {
    "topics": ("document_weights", "topics", "anchor_columns", "document_names", "vocabulary"),
    "communities": ("memberships", "", "pure_nodes", "node_names", ""),
    "unmixing": ("abundances", "endmembers", "anchor_pixels", "", "band_names"),
    "parts": ("", "", "", "image_names", ""),
    "matrix": ("", "", "", "row_names", "column_names"),
}


@dataclass(frozen=True, eq=False)
class Answer:
    """Weights (n, k), components (k, d) and names, in the terms of the application.

    anchors : for topics columns, otherwise rows; None if the method chooses none.
    image_shape : rows and columns of an image, for unmixing and parts.
    """

    kind: str
    weights: NDArray[Any]
    components: NDArray[Any]
    anchors: NDArray[Any] | None
    names: list[str]
    row_names: list[str]
    column_names: list[str]
    notes: list[str]
    image_shape: tuple[int, int] = (1, 1)

    @property
    def n_components(self) -> int:
        """How many components there are."""
        return len(self.names)

    @property
    def share(self) -> NDArray[np.float64]:
        """How much of everything is due to each component; sums to 1."""
        weights = np.maximum(np.nan_to_num(self.weights), 0).astype(np.float64)
        if self.kind in ("parts", "matrix"):
            weights = weights * np.linalg.norm(self.components, axis=1)
        totals = weights.sum(axis=0)
        return totals / max(totals.sum(), np.finfo(float).tiny)

    def anchor_name(self, component: int) -> str:
        """The anchor of a component by name, or nothing."""
        if self.anchors is None:
            return ""
        names = self.column_names if self.kind == "topics" else self.row_names
        anchor = int(self.anchors[component])
        return names[anchor] if 0 <= anchor < len(names) else ""


def answer_of(result: Factorization) -> Answer:
    """Read the answer from a record."""
    kind = result.kind if result.kind in WORDS else "matrix"
    extras = result.extras
    in_weights, in_components, in_anchors, in_rows, in_columns = PLACES[kind]
    component_word, row_word, column_word = WORDS[kind]
    weights = np.asarray(extras.get(in_weights, result.weights))
    components = np.asarray(extras.get(in_components, result.components))
    anchors = extras.get(in_anchors) if in_anchors else result.anchors
    shape = (1, 1)
    if kind in ("unmixing", "parts"):
        weights, shape = _with_image(result, kind, weights, components.shape[1])
    if anchors is not None and len(anchors) != weights.shape[1]:
        anchors = None
    return Answer(
        kind=kind,
        weights=weights,
        components=components,
        anchors=anchors,
        names=_names(extras.get("component_names"), weights.shape[1], component_word),
        row_names=_pixel_names(shape)
        if kind == "unmixing"
        else _names(extras.get(in_rows), len(weights), row_word),
        column_names=_names(extras.get(in_columns), components.shape[1], column_word),
        notes=[str(note) for note in np.ravel(extras.get("notes", []))],
        image_shape=shape,
    )


def _names(stored: Any, length: int, fallback: str) -> list[str]:
    """The names stored, or "word 1", "word 2", …"""
    if stored is not None and len(stored) == length:
        return [str(name) for name in stored]
    return [f"{fallback} {number}" for number in range(1, length + 1)]


def _pixel_names(shape: tuple[int, int]) -> list[str]:
    return [f"row {i}, column {j}" for i in range(shape[0]) for j in range(shape[1])]


def _with_image(
    result: Factorization, kind: str, weights: NDArray[Any], n_columns: int
) -> tuple[NDArray[Any], tuple[int, int]]:
    """Rows for masked pixels (NaN), and the size of the image; one row if it is not known."""
    mask = result.extras.get("pixel_mask")
    if mask is not None and np.count_nonzero(mask) == len(weights):
        full = np.full((len(mask), weights.shape[1]), np.nan)
        full[mask] = weights
        weights = full
    pixels = len(weights) if kind == "unmixing" else n_columns
    stored = [int(side) for side in result.extras.get("image_shape", ())]
    if len(stored) == 2 and math.prod(stored) == pixels:
        return weights, (stored[0], stored[1])
    return weights, (1, pixels)


def evenly(n: int, count: int) -> NDArray[np.intp]:
    """At most `count` different places spread evenly over 0 … n − 1: a sample to show."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.intp))


def factorized(result: Factorization) -> str:
    """The matrix that the certificate speaks of, in words; empty if it is the user's own."""
    rows, columns = len(result.weights), result.components.shape[1]
    kind, extras = result.kind, result.extras
    if kind == "topics" and "anchor_columns" in extras:
        return (
            f"{rows:,} words as points, each the scaled co-occurrence of a word in {columns} "
            "coordinates"
        )
    if kind == "topics":
        return f"{rows:,} documents of unit length over {columns:,} words"
    if kind == "communities":
        return f"{rows:,} nodes as points in the coordinates of {columns} leading eigenvectors"
    if kind == "unmixing" and "group_sizes" in extras:
        return f"{rows:,} means of groups of near-identical pixels, {columns} bands"
    return ""
