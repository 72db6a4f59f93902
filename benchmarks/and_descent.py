"""AND against its paper's loop written literally, and against scikit-learn, from the same start.

    python benchmarks/and_descent.py [--quick] [--data DIR]

k = 100 components, n = 5000 rows; d = 2940 with --data (topics of DIR/nips/anchor_topics_100.npz),
2000 without; NEG has d = 1000. The error is the total squared correlation error. The literal loop
is timed for a few stages, in which its features are compared with ours; as the iterates agree, its
time to an error is its time per stage times the number of stages that ours needs.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from provenmf.datasets.and_descent import (
    load_topics,
    sample_dirichlet,
    sample_fresh_covariance,
    sample_signed,
    start_nearby,
    topic_components,
)
from provenmf.datasets.sample import Sample
from provenmf.methods.and_descent.solver import StageRule
from provenmf.reproduce.and_courses import (
    PAPER,
    Point,
    Sequence,
    and_stages,
    course,
    lda_sweeps,
    literal_and,
    nmf_sweeps,
)

TARGETS = (1e-2, 1e-4, 1e-6, 1e-8)


def reached(points: list[Point], target: float) -> int | None:
    """Number of passes after which the squared error is below the target for the first time."""
    return next((i + 1 for i, p in enumerate(points) if p.squared_error < target), None)


def cell(points: list[Point], target: float, per_stage: float | None = None) -> str:
    count = reached(points, target)
    if count is None:
        return "-"
    spent = points[count - 1].seconds if per_stage is None else count * per_stage
    return f"{spent:.3g} s / {count}"


def benchmark(name: str, sample: Sample, *, limit: float) -> list[list[str]]:
    start = start_nearby(sample.components, random_state=1)
    checked = 2
    next(and_stages(PAPER)(sample.data, start))  # wakes the threads up
    literal, ours = (f(sample.data, start) for f in (literal_and, and_stages(PAPER)))
    literal_seconds, difference = [], 0.0
    for _ in range(checked):
        began = time.perf_counter()
        expected = next(literal)
        literal_seconds.append(time.perf_counter() - began)
        difference = max(difference, np.abs(next(ours) - expected).max() / np.abs(expected).max())
    per_literal = float(np.median(literal_seconds))
    runs: dict[str, Sequence] = {
        "ours, paper's schedule": and_stages(PAPER),
        "ours, default": and_stages(StageRule()),
    }
    if sample.data.min() >= 0:
        runs |= {"scikit-learn NMF": nmf_sweeps("cd"), "scikit-learn LDA": lda_sweeps}
    rows = []
    for label, sequence in runs.items():
        mine = label.startswith("ours")
        points = course(
            sequence,
            sample.data,
            start,
            sample.components,
            passes=200 if mine else 10**6,
            seconds=math.inf if mine else limit,
            until_squared=TARGETS[-1],
        )
        per_pass = points[-1].seconds / len(points)
        if label == "ours, paper's schedule":
            literal_row = [name, "literal loop", f"{per_literal:.3g}"]
            literal_row += [cell(points, target, per_literal) for target in TARGETS]
            rows.append([*literal_row, f"{checked} stages run, the rest from their time"])
            to_last = reached(points, TARGETS[-1])
            note = f"difference {difference:.0e}, {per_literal / per_pass:.0f} x per stage"
        elif label == "ours, default":
            count = reached(points, TARGETS[-1])
            note = "the literal loop does not get there"
            if count and to_last:
                ratio = to_last * per_literal / points[count - 1].seconds
                note = f"{ratio:.0f} x faster to {TARGETS[-1]:.0e}"
        else:
            note = f"ends at {points[-1].squared_error:.1e}"
        row = [name, label, f"{per_pass:.3g}"]
        rows.append([*row, *(cell(points, target) for target in TARGETS), note])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="k = 30, n = 1000, d = 300")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for scikit-learn")
    parser.add_argument("--only", help="data sets, comma separated")
    arguments = parser.parse_args()
    k, n, d, d_signed = (30, 1000, 300, 100) if arguments.quick else (100, 5000, 2000, 1000)
    limit = 5.0 if arguments.quick else arguments.limit
    if arguments.data and not arguments.quick:
        topics = load_topics(arguments.data / "nips" / "anchor_topics_100.npz")
    else:
        topics = topic_components(k, d, random_state=0)
    draw = {
        "DIR": lambda: sample_dirichlet(n, topics, random_state=0),
        "CTM fresh": lambda: sample_fresh_covariance(n, topics, random_state=0),
        "NEG": lambda: sample_signed(n, n_components=k, n_columns=d_signed, random_state=0),
    }
    for name in arguments.only.split(",") if arguments.only else draw:
        table = Table(title=f"{name}: seconds / passes to an error; k = {k}, n = {n}")
        for heading in ("data", "method", "s per pass", *(f"{t:.0e}" for t in TARGETS), "note"):
            table.add_column(heading)
        for row in benchmark(name, draw[name](), limit=limit):
            table.add_row(*row)
        Console(width=150).print(table)


if __name__ == "__main__":
    main()
