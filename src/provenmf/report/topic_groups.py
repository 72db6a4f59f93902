"""Topics over time, or by any other property of the documents."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics import Topics
from provenmf.report.elements import Chart, Element
from provenmf.report.figures import HeatMap, Lines

MOST_POINTS = 60
MOST_GROUPS = 40
DATE = re.compile(r"\d{4}-\d{2}(-\d{2}.*)?$")


def by_group(answer: Topics) -> list[Element]:
    """Curves over dates and numbers, a table in colours over other groups."""
    if answer.document_groups is None:
        return []
    name = answer.grouped_by
    groups, shares = answer.grouped(merged(answer.document_groups), name).group_shares()
    if len(groups) < 2:
        return []
    if ordered(groups):
        places = (
            np.argsort([float(group) for group in groups]) if are_numbers(groups) else slice(None)
        )
        x = [groups[i] for i in np.arange(len(groups))[places]]
        at = [float(v) for v in x] if are_numbers(groups) else x
        curves = [(n, at, shares[places, i]) for i, n in enumerate(answer.component_names)]
        caption = "Share of each topic among the documents of each point."
        return [Chart(f"Topics by {name}", Lines(curves, name, "share"), caption, height=420)]
    sizes = np.array([np.count_nonzero(answer.document_groups == group) for group in groups])
    shown = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
    caption = f"Each row is one {name}, with the share of each topic among its documents."
    if len(shown) < len(groups):
        caption += f" Shown: the {MOST_GROUPS} with most documents of {len(groups):,}."
    labels = [f"{groups[i]} ({sizes[i]:,} documents)" for i in shown]
    figure = HeatMap(
        shares[shown],
        labels,
        answer.component_names,
        "share",
        row_ticks=[groups[i] for i in shown],
    )
    return [Chart(f"Topics by {name}", figure, caption, height=130 + 24 * len(shown))]


def are_numbers(groups: list[str]) -> bool:
    """Whether every group is a number."""
    try:
        return bool(np.isfinite([float(group) for group in groups]).all())
    except ValueError:
        return False


def are_dates(groups: list[str]) -> bool:
    """Whether every group is a date such as 2026-05 or 2026-05-17."""
    return all(DATE.match(group) for group in groups)


def ordered(groups: list[str]) -> bool:
    """Whether the groups stand on a line."""
    return are_numbers(groups) or are_dates(groups)


def merged(groups: NDArray[np.str_]) -> list[str]:
    """Too many dates become days, months or years; too many numbers the middles of intervals."""
    values = [str(group) for group in groups]
    if len(set(values)) <= MOST_POINTS:
        return values
    if are_dates(values):
        for length in (10, 7, 4):
            cut = [value[:length] for value in values]
            if len(set(cut)) <= MOST_POINTS:
                break
        return cut
    if not are_numbers(values):
        return values
    numbers = np.array([float(value) for value in values])
    edges = np.linspace(numbers.min(), numbers.max(), MOST_POINTS // 2 + 1)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return [f"{middle:.6g}" for middle in (edges[:-1] + edges[1:])[place] / 2]
