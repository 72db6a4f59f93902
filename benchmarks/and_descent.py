"""AND against its paper's loop written literally, and against scikit-learn, from the same start.

    python benchmarks/and_descent.py [--quick] [--data DIR]

k = 100 components, n = 5000 rows; d = 2940 with --data (topics of DIR/nips/anchor_topics_100.npz),
2000 without; NEG has d = 1000. The error is the total squared correlation error. The literal loop
is timed for a few stages, in which its features are compared with ours; as the iterates agree, its
time to an error is its time per stage times the number of stages that ours needs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import psi
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning

from provenmf.blocks import as_blocks
from provenmf.datasets.and_descent import (
    load_topics,
    sample_dirichlet,
    sample_fresh_covariance,
    sample_signed,
    start_nearby,
    topic_components,
)
from provenmf.metrics.recovery import total_squared_correlation_error
from provenmf.solvers.and_descent import (
    StageRule,
    first_state,
    next_state,
    pass_over,
    row_scales_and_length,
)
from provenmf.solvers.weights import encode

Array = NDArray[np.float64]
TARGETS = (1e-2, 1e-4, 1e-6, 1e-8)
PAPER = StageRule(schedule="paper", steps="paper", normalize=False)


def literal_stages(data: Array, start: Array) -> Iterator[Array]:
    """LL17's Algorithm 1 over the whole data: both products at each of the T = 50 steps."""
    Y, A = np.ascontiguousarray(data.T), start.T.copy()
    eta, j = 0.5 / A.shape[1], 0
    while True:
        j += 1
        Z = np.linalg.pinv(A) @ Y
        Z[Z < 0.1 / 1.1**j] = 0
        for _ in range(50):
            A = A + eta * (Y - A @ Z) @ Z.T
        yield A.T


def our_stages(rule: StageRule) -> Callable[[Array, Array], Iterator[Array]]:
    """Our stages, handing out the components after each."""

    def stages(data: Array, start: Array) -> Iterator[Array]:
        blocks = as_blocks(data)
        scales, _ = row_scales_and_length(blocks, rule)
        state = first_state(blocks, start, scales, rule)
        while True:
            state = next_state(state, pass_over(blocks, state, scales, rule), rule)
            yield state.components

    return stages


def nmf_passes(data: Array, start: Array) -> Iterator[Array]:
    """scikit-learn's NMF, coordinate descent, one sweep over both factors at a time."""
    H = np.maximum(start, 0.0)
    W = encode(as_blocks(data), H)
    while True:
        model = NMF(len(start), init="custom", max_iter=1, tol=0)
        W = model.fit_transform(data, W=W, H=H)
        H = model.components_
        yield H


def lda_passes(data: Array, start: Array) -> Iterator[Array]:
    """scikit-learn's online LDA on the rows as documents of 1000 words, one sweep at a time."""
    counts = 1000 * data
    model = LatentDirichletAllocation(
        len(start), learning_method="online", total_samples=len(data), random_state=0
    )
    model.partial_fit(counts[:1])  # makes the arrays that are then overwritten with the start
    model.components_ = np.maximum(start, 1e-9) * 1000
    totals = model.components_.sum(axis=1, keepdims=True)
    model.exp_dirichlet_component_ = np.exp(psi(model.components_) - psi(totals))
    while True:
        for first in range(0, len(data), 500):
            model.partial_fit(counts[first : first + 500])
        yield model.components_


def course(
    stages: Iterator[Array], truth: Array, *, most: int, seconds: float
) -> list[tuple[float, float]]:
    """(seconds, error) after each stage, until the last target is met."""
    points, spent = [], 0.0
    for _ in range(most):
        began = time.perf_counter()
        components = next(stages)
        spent += time.perf_counter() - began
        points.append((spent, total_squared_correlation_error(components, truth)))
        if points[-1][1] < TARGETS[-1] or spent > seconds:
            break
    return points


def reached(points: list[tuple[float, float]], target: float) -> int | None:
    """Number of stages after which the error is below the target for the first time."""
    return next((i + 1 for i, (_, error) in enumerate(points) if error < target), None)


def cell(points: list[tuple[float, float]], target: float, per_stage: float | None = None) -> str:
    count = reached(points, target)
    if count is None:
        return "-"
    spent = points[count - 1][0] if per_stage is None else count * per_stage
    return f"{spent:.3g} s / {count}"


def benchmark(name: str, sample: Any, *, quick: bool, limit: float) -> list[list[str]]:
    start = start_nearby(sample.components, random_state=1)
    checked = 2 if quick else 3
    literal = literal_stages(sample.data, start)
    ours = our_stages(PAPER)(sample.data, start)
    next(our_stages(PAPER)(sample.data, start))  # wakes the threads up
    literal_seconds, our_seconds, difference = [], [], 0.0
    for _ in range(checked):
        began = time.perf_counter()
        expected = next(literal)
        middle = time.perf_counter()
        found = next(ours)
        our_seconds.append(time.perf_counter() - middle)
        literal_seconds.append(middle - began)
        difference = max(difference, np.abs(found - expected).max() / np.abs(expected).max())
    per_literal = float(np.median(literal_seconds))
    runs = {
        "ours, paper's schedule": (our_stages(PAPER), 200),
        "ours, default": (our_stages(StageRule()), 100),
    }
    if sample.data.min() >= 0:
        runs |= {"scikit-learn NMF": (nmf_passes, 10**6), "scikit-learn LDA": (lda_passes, 10**6)}
    rows = []
    for label, (stages, most) in runs.items():
        points = course(stages(sample.data, start), sample.components, most=most, seconds=limit)
        if label == "ours, paper's schedule":
            per_ours = points[-1][0] / len(points)
            literal_row = [name, "literal loop", f"{per_literal:.3g}"]
            literal_row += [cell(points, target, per_literal) for target in TARGETS]
            rows.append([*literal_row, f"{points[checked - 1][1]:.1e} after {checked}"])
            to_last = reached(points, TARGETS[-1])
            note = f"difference {difference:.0e}, {per_literal / per_ours:.0f} x per stage"
        elif label == "ours, default":
            count = reached(points, TARGETS[-1])
            note = "the literal loop does not get there"
            if count and to_last:
                ratio = to_last * per_literal / points[count - 1][0]
                note = f"{ratio:.0f} x faster to {TARGETS[-1]:.0e}"
        else:
            note = f"ends at {points[-1][1]:.1e}"
        row = [name, label, f"{points[-1][0] / len(points):.3g}"]
        rows.append([*row, *(cell(points, target) for target in TARGETS), note])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="k = 30, n = 1000, d = 300")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each method")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # one sweep at a time does not converge
    k, n, d, d_signed = (30, 1000, 300, 100) if arguments.quick else (100, 5000, 2000, 1000)
    limit = 5.0 if arguments.quick else arguments.limit
    if arguments.data and not arguments.quick:
        topics = load_topics(arguments.data / "nips" / "anchor_topics_100.npz")
    else:
        topics = topic_components(k, d, random_state=0)
    samples = {
        "DIR": sample_dirichlet(n, topics, random_state=0),
        "CTM fresh": sample_fresh_covariance(n, topics, random_state=0),
        "NEG": sample_signed(n, n_components=k, n_columns=d_signed, random_state=0),
    }
    table = Table(title=f"Seconds / passes to an error; k = {k}, n = {n}, d = {topics.shape[1]}")
    for heading in ("data", "method", "s per pass", *(f"{t:.0e}" for t in TARGETS), "note"):
        table.add_column(heading)
    for name, sample in samples.items():
        for row in benchmark(name, sample, quick=arguments.quick, limit=limit):
            table.add_row(*row)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
