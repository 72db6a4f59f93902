"""Signatures: bars over mutation types, and matches with known signatures."""

from __future__ import annotations

import numpy as np

from provenmf.applications.signatures import Signatures
from provenmf.report import figures, matrix
from provenmf.report.elements import Chart, ChartGrid, Element, Paragraph, Table


def found(answer: Signatures) -> list[Element]:
    """Return the elements of the first tab."""
    summary = (
        f"{answer.n_components} signatures of {len(answer.tumors):,} tumors with "
        f"{answer.exposures.sum():,.0f} mutations in {len(answer.channels)} channels. "
        f"A tumor and its reconstruction have a median cosine of "
        f"{np.median(answer.reconstruction):.3f}."
    )
    return [Paragraph(summary), _bars(answer), *_matches(answer)]


def _bars(answer: Signatures) -> ChartGrid:
    """Draw every signature as columns over the channels, the usual picture."""
    kinds = [_kind(name) for name in answer.column_names]
    charts = []
    for j in matrix.by_size(answer):
        known = f", near {answer.matches[j].name}" if answer.matches else ""
        figure = figures.Columns(answer.column_names, answer.signatures[j], "probability", kinds)
        caption = f"{answer.share[j]:.0%} of all mutations{known}"
        name = answer.component_names[j]
        charts.append(Chart(name, figure, caption, height=170, component=j + 1))
    return ChartGrid("Signatures", charts, "Each column is a mutation type.")


def _kind(channel: str) -> str:
    """Return the substitution of a channel such as A[C>A]A, or the kind of an indel."""
    if "[" in channel and "]" in channel:
        return channel[channel.index("[") + 1 : channel.index("]")]
    return ":".join(channel.split(":")[:3]) if channel.count(":") > 2 else ""


def _matches(answer: Signatures) -> list[Element]:
    if not answer.matches:
        return []
    rows = [
        (
            name,
            match.name,
            f"{match.cosine:.3f}",
            " + ".join(f"{share:.0%} {part}" for part, share in match.parts),
            f"{match.parts_cosine:.3f}",
        )
        for name, match in zip(answer.component_names, answer.matches)
    ]
    heads = ("signature", "nearest known", "cosine", "decomposition", "cosine of it")
    return [Table("Known signatures", heads, rows)]
