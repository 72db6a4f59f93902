"""Signatures: bars over mutation types, and matches with known signatures."""

from __future__ import annotations

import numpy as np

from provenmf.applications.signatures import Signatures
from provenmf.applications.signatures.channels import group, plotted
from provenmf.report import figures, matrix
from provenmf.report.elements import Chart, ChartGrid, Element, Paragraph, Table

TUMORS = 400  # in the chart of exposures
PARTS = 7  # signatures with a colour of their own there


def found(answer: Signatures) -> list[Element]:
    """Return the elements of the first tab."""
    summary = (
        f"{answer.n_components} signatures of {len(answer.tumors):,} tumors with "
        f"{answer.mutations.sum():,.0f} mutations in {len(answer.channels)} channels. "
        f"A tumor and its reconstruction have a median cosine of "
        f"{np.median(answer.reconstruction):.3f}."
    )
    return [Paragraph(summary), _bars(answer), *_matches(answer), *_exposures(answer)]


def _bars(answer: Signatures) -> ChartGrid:
    """Draw every signature as columns over the channels, the usual picture."""
    order = plotted(answer.column_names)
    kinds = [group(answer.column_names[j]) for j in order]
    captions = [f"{share:.1%} of all mutations" for share in answer.share]
    told = "Each column is the probability of a mutation type."
    return matrix.bars_over_columns(
        answer, "Signatures", "probability", captions, told, order=order, kinds=kinds
    )


def _exposures(answer: Signatures) -> list[Element]:
    """Draw the shares of the largest signatures in each tumor, sorted by the main one."""
    totals = answer.exposures.sum(axis=1)
    used = np.flatnonzero(totals > 0)
    if len(used) < 2 or answer.n_components < 2:
        return []
    largest = matrix.by_size(answer)[:PARTS]
    shares = answer.exposures[used] / totals[used, None]
    main = np.argmax(shares[:, largest], axis=1)
    order = np.lexsort((-shares[np.arange(len(used)), np.array(largest)[main]], main))
    shown = order[matrix.evenly(len(order), TUMORS)]
    parts, names = shares[shown][:, largest], [answer.component_names[i] for i in largest]
    if len(largest) < answer.n_components:
        parts = np.column_stack([parts, np.maximum(1 - parts.sum(axis=1), 0)])
        names.append("others")
    tumors = answer.row_names
    tips = [f"{tumors[i]}, {answer.mutations[i]:,.0f} mutations" for i in used[shown].tolist()]
    caption = "Each column is a tumor: the share of its mutations that is due to each signature."
    if len(shown) < len(used):
        caption += f" Shown: {len(shown):,} of {len(used):,} tumors, evenly spread."
    figure = figures.Columns(tips, parts, "share", parts=names)
    return [Chart("Exposures of the tumors", figure, caption, height=320)]


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
