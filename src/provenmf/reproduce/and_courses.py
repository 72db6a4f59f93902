"""AND and its competitors as sequences of components, one for each pass over the data.

Each function takes data (n, d) and a start (k, d) and yields components for ever; `course` times
them and measures their error.

Differs: Li and Liang use their own code for HALS and multiplicative updates and Kim and Park's for
ANLS. HALS here is scikit-learn's coordinate descent, which makes the same updates entry by entry,
MU and LDA are scikit-learn's, ANLS solves both least-squares problems exactly with our own solver.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning

from provenmf.data import as_blocks
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.methods.and_descent.solver import StageRule, Stages
from provenmf.methods.weights import encode
from provenmf.metrics.recovery import total_correlation_error, total_squared_correlation_error

Array = NDArray[np.float64]
Sequence = Callable[[Array, Array], Iterator[NDArray[np.floating]]]

# The settings of the paper's experiments.
PAPER = StageRule(schedule="paper", n_steps=50, scale_rows=False)


@dataclass(frozen=True)
class Point:
    """After one pass: seconds so far, the paper's error, and its code's squared error."""

    seconds: float
    error: float
    squared_error: float


def course(
    sequence: Sequence,
    data: Array,
    start: Array,
    truth: Array,
    *,
    passes: int,
    seconds: float = np.inf,
    until_squared: float = 0.0,
) -> list[Point]:
    """One point per pass, until a limit or a small enough squared error is reached."""
    points: list[Point] = []
    spent = 0.0
    steps = sequence(data, start)
    while len(points) < passes and spent <= seconds:
        began = time.perf_counter()
        components = next(steps)
        spent += time.perf_counter() - began
        squared = total_squared_correlation_error(components, truth)
        points.append(Point(spent, total_correlation_error(components, truth), squared))
        if squared < until_squared:
            break
    return points


def literal_and(data: Array, start: Array) -> Iterator[Array]:
    """Algorithm 1 of the paper over the whole data: both products at each of the T = 50 steps."""
    Y, A = np.ascontiguousarray(data.T), start.T.copy()
    eta, j = 0.5 / A.shape[1], 0
    while True:
        j += 1
        Z = np.linalg.pinv(A) @ Y
        Z[Z < 0.1 / 1.1**j] = 0
        for _ in range(50):
            A = A + eta * (Y - A @ Z) @ Z.T
        yield A.T


def and_stages(rule: StageRule) -> Sequence:
    """Our stages."""

    def stages(data: Array, start: Array) -> Iterator[Array]:
        run = Stages(as_blocks(data), rule)
        state = run.first(start)
        while True:
            state = run.next(state, run.sums(state))
            yield state.components

    return stages


def nmf_sweeps(solver: str) -> Sequence:
    """scikit-learn's NMF with solver "cd" or "mu", one sweep over both factors at a time."""

    def sweeps(data: Array, start: Array) -> Iterator[Array]:
        H = np.maximum(start, 1e-12 if solver == "mu" else 0.0)
        W = encode(as_blocks(data), H)
        if solver == "mu":
            W = np.maximum(W, 1e-12)  # multiplicative updates cannot leave zero
        while True:
            model = NMF(len(start), init="custom", solver=solver, max_iter=1, tol=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # one sweep is what we ask for
                W = model.fit_transform(data, W=W, H=H)
            H = model.components_
            yield H

    return sweeps


def anls_sweeps(data: Array, start: Array) -> Iterator[NDArray[np.floating]]:
    """Both factors in turn by exact nonnegative least squares."""
    H: NDArray[np.floating] = np.maximum(start, 0.0)
    while True:
        W = nonnegative_least_squares(H @ H.T, data @ H.T)
        H = nonnegative_least_squares(W.T @ W, data.T @ W).T
        yield H


def lda_sweeps(data: Array, start: Array) -> Iterator[Array]:
    """scikit-learn's online LDA on the rows as documents of 1000 words, one sweep at a time."""
    counts = 1000 * data
    model: Any = LatentDirichletAllocation(
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


COMPETITORS: dict[str, Sequence] = {
    "HALS": nmf_sweeps("cd"),
    "ANLS": anls_sweeps,
    "MU": nmf_sweeps("mu"),
    "LDA": lda_sweeps,
}
