"""What the experiments of Li and Liang (2017) share: sizes, data, start, several methods at once.

Setting of the paper: k = 100, n = 5000, the word-topic matrix of the NIPS corpus as components
(with --data the one of nips/anchor_topics_100.npz, d = 2940; otherwise synthetic topics, d = 2000),
d = 1000 for NEG, T = 50 steps per stage (100 with noise), thresholds 0.1/1.1^j. The quick version
has k = 12, n = 400, d = 60. Errors are the paper's total correlation error, not squared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from provenmf.datasets.and_descent import load_topics, start_nearby, topic_components
from provenmf.datasets.sample import Sample
from provenmf.methods.and_descent.solver import StageRule
from provenmf.reproduce.and_courses import PAPER, Point, Sequence, and_stages, course
from provenmf.reproduce.experiment import Figure, Row, Series, Settings

OURS = StageRule(project_start=True)


def sizes(settings: Settings) -> tuple[int, int, int, int]:
    """Components, rows, columns, columns of NEG."""
    return (12, 400, 60, 40) if settings.quick else (100, 5000, 2000, 1000)


def topics(settings: Settings) -> NDArray[np.float64]:
    """The word-topic matrix, one topic per row."""
    k, _, d, _ = sizes(settings)
    if settings.data is not None:
        return load_topics(settings.data / "nips" / "anchor_topics_100.npz")[:k]
    return topic_components(k, d, random_state=settings.seed)


def standard_start(
    components: NDArray[np.float64], seed: int, *, in_span: float = 1.0, out_of_span: float = 0.0
) -> NDArray[np.float64]:
    """(I + U) components with U uniform in ±0.05 in_span, as in the paper, for any k."""
    return start_nearby(
        components,
        in_span=in_span * math.sqrt(len(components)) / 10,
        out_of_span=out_of_span,
        random_state=seed + 1,
    )


def run_all(
    sequences: Mapping[str, Sequence],
    sample: Sample,
    start: NDArray[np.float64],
    settings: Settings,
    *,
    most_seconds: float = 60.0,
    quick_seconds: float = math.inf,
) -> dict[str, list[Point]]:
    """The courses of several methods from one start, each within a limit of time."""
    passes, seconds = (60, quick_seconds) if settings.quick else (200, most_seconds)
    return {
        name: course(
            sequence,
            sample.data,
            start,
            sample.components,
            passes=passes,
            seconds=seconds,
            until_squared=1e-20,
        )
        for name, sequence in sequences.items()
    }


def figure(title: str, courses: Mapping[str, list[Point]]) -> Figure:
    """Errors against seconds, as the paper draws them."""
    series = [
        Series(name, [p.seconds for p in points], [p.error for p in points])
        for name, points in courses.items()
    ]
    return Figure(title, "seconds", "total correlation error", series, log_y=True)


def rows_of(courses: Mapping[str, list[Point]], first: float) -> list[Row]:
    """One line per method: where it started, where it ended, what that took."""
    return [
        {
            "method": name,
            "error at the start": first,
            "error": points[-1].error,
            "squared error of the authors' code": points[-1].squared_error,
            "passes": len(points),
            "seconds": round(points[-1].seconds, 3),
        }
        for name, points in courses.items()
    ]


def both_schedules(prefix: object) -> dict[str, Sequence]:
    """AND with the paper's schedule and with ours, in this order."""
    return {
        f"{prefix}, {label}": and_stages(rule)
        for label, rule in (("paper's schedule", PAPER), ("adaptive", OURS))
    }


def fell(courses: Mapping[str, list[Point]], first: float) -> list[bool]:
    """Of each method whether the error fell below 1 % of where it began."""
    return [points[-1].error < 1e-2 * first for points in courses.values()]
