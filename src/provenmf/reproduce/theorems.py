"""Theorems of Li17, Li16 and Nguyen22 that no figure of the papers shows.

AND (Li17): Theorem 1, binary weights with the constant threshold 1/4, independent or with the
highest possible correlation; the weights of Section 6.1 that no method can decode; Theorem 26,
noise that is only bounded, (γ₁, γ₂)-rounded of Definition 5. "η = 1/poly" is 1/‖ZᵀZ‖₂ here.

Purification (Li16): the coupled potential a + βb of Sections 5.1 and 5.2, a and b the sizes of the
positive and the negative part of E; the proof allows 7.6 ≤ β ≤ 8.

MERIT (Nguyen22): the literal Frank-Wolfe iteration on rows without noise (Theorem 1, Fact 1,
Lemma 1), and its warm start on noisy ones (Proposition 1).
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from provenmf.data import LocalRows, as_blocks
from provenmf.datasets.and_descent import sample_sparse_binary, topic_components
from provenmf.datasets.purification import overlapping_features, warm_start
from provenmf.datasets.sample import Sample
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.linalg.nnls import encoder
from provenmf.methods.and_descent.guarantee import general_correlation
from provenmf.methods.merit.guarantee import (
    algorithm_1,
    lemma_1_bound,
    proposition_1_bound,
    smallest_difference,
)
from provenmf.methods.purification.solver import Rule, purification
from provenmf.methods.separable.spa import spa
from provenmf.metrics.recovery import total_correlation_error
from provenmf.reproduce.and_descent import (
    PAPER,
    VARIANT,
    Method,
    adaptive_stages,
    courses,
    figure,
    paper_stages,
    rows_of,
    standard_start,
)
from provenmf.reproduce.claims import (
    Figure,
    Measured,
    Recipe,
    Row,
    Series,
    Settings,
    cell,
    column,
    declare,
    exponent,
)
from provenmf.reproduce.purification import exact_sample

Floats = NDArray[np.float64]
POTENTIAL = "Coupled potential"
BINARY, NOISE, SECTION_6 = "Binary weights, α = 1/4", "Bounded noise", "Weights of Section 6.1"


def and_theorems(settings: Settings) -> Measured:
    """Test Theorem 1, the counterexample of Section 6.1, and Theorem 26."""
    k, d, n = (12, 40, 600) if settings.quick else (50, 300, 4000)
    topics = topic_components(k, d, random_state=settings.seed)
    start = standard_start(topics, settings.seed, in_span=1.0)
    constant = partial(paper_stages, alpha=0.25, decay=1.0, eta=None)
    sample = sample_sparse_binary(n, topics, n_ones=3, random_state=settings.seed)
    rng = np.random.default_rng(settings.seed)
    binary: list[Row] = []
    for name, weights in (
        ("independent", sample.weights),
        ("pairs", in_pairs(sample.weights, 0.5, rng)),
    ):
        settings.progress(0.2, f"binary weights, {name}")
        data = Sample(weights @ topics, topics, weights)
        runs = courses({PAPER: constant, VARIANT: adaptive_stages}, data, start, settings)
        binary += rows_of(runs, data, weights=name)
    settings.progress(0.4, "Section 6.1")
    everywhere = np.where(sample.weights > 0, 1.0, 1.0 / k)
    data = Sample(everywhere @ topics, topics, everywhere)
    methods: dict[str, Method] = {
        PAPER: partial(paper_stages, eta=None),
        VARIANT: adaptive_stages,
    }
    runs = courses(methods, data, start, settings)
    # Each of the three features with weight one may take a third of the common vector.
    absorbed = (1 - 1 / k) * topics + topics.mean(axis=0) / 3
    error = total_correlation_error(absorbed, topics)
    undecodable = [{**row, "absorbed": error} for row in rows_of(runs, data)]
    noisy = [
        noise_row(kind, level, sample, start, settings)
        for kind in ("random", "adversarial")
        for level in (0.003, 0.01, 0.03)
    ]
    tables = {BINARY: binary, SECTION_6: undecodable, NOISE: noisy}
    return Measured(tables, [figure(SECTION_6, runs)])


def in_pairs(weights: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Let every second feature follow its neighbor with this chance: E[x_i x_j] = O(1/D)."""
    paired = weights.copy()
    follows = rng.random((len(weights), weights.shape[1] // 2)) < share
    second = paired[:, 1::2][:, : follows.shape[1]]
    second[follows] = paired[:, 0::2][:, : follows.shape[1]][follows]
    return paired


def noise_row(kind: str, level: float, sample: Sample, start: Floats, settings: Settings) -> Row:
    """Compute ‖A − A*Σ‖₂ for noise of norm γ₂ = level · σ_min(A*), and Theorem 26's bound."""
    settings.progress(0.6, f"{kind} noise {level}")
    topics, weights = sample.components, sample.weights
    rng = np.random.default_rng(settings.seed + 1)
    singular = np.linalg.svd(topics, compute_uv=False)
    gamma = level * singular[-1]
    directions = rng.standard_normal(topics.shape)
    if kind == "random":
        directions = rng.standard_normal(sample.data.shape)
    else:  # always the same push for the first feature that a row has
        directions = directions[weights.argmax(axis=1)]
    noise = gamma * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    stages = paper_stages(sample.data + noise, start, steps=100, alpha=0.25, decay=1.0, eta=None)
    for _, found in zip(range(20 if settings.quick else 60), stages):
        last = found
    scales = np.einsum("ij,ij->i", last, topics) / np.einsum("ij,ij->i", topics, topics)
    error = float(np.linalg.norm(last - scales[:, None] * topics, 2))
    correlation = general_correlation(LocalRows.of(weights))
    gamma_1 = float(np.linalg.norm(noise.T @ noise / len(noise), 2))
    lam, k = correlation.lam, correlation.k
    bound = correlation.r * gamma / lam * singular[0] / singular[-1]
    bound += math.sqrt(gamma_1 * correlation.D / k) / lam
    return {"noise": kind, "γ₂": gamma, "γ₁": gamma_1, "error": error, "bound": bound}


def coupled_potential(settings: Settings) -> Measured:
    """Follow the proof's a + βb, β = 7.8, without noise and with η = 1/60."""
    settings.progress(0.0, "coupled potential")
    levels, steps = (7 if settings.quick else 11), 300
    features = overlapping_features(levels - 1, 20 * levels, random_state=settings.seed)
    start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
    blocks = as_blocks(exact_sample(features, levels, 1).data)
    found = purification(
        blocks, start, Rule(step_size=1 / 60), max_iter=steps, tol=0.0, truth=features
    )
    potential = found.trace["truth_potential"]
    row: Row = {"β": 7.8, "first": potential[0], "last": potential[-1], "iterations": steps}
    row["largest factor"] = float((potential[1:] / potential[:-1]).max())
    names = {"truth_potential": "a + 7.8b", "truth_mixing": "‖E‖_s"}
    lines = [
        Series(name, list(range(1, steps + 1)), found.trace[column].tolist())
        for column, name in names.items()
    ]
    figure = Figure(POTENTIAL, "iteration", "size", lines, log_y=True)
    return Measured({POTENTIAL: [row]}, [figure])


def merit_lemmas(settings: Settings) -> Measured:
    """Test Theorem 1, Fact 1, Lemma 1 without noise; Proposition 1 at 20 dB, warm start."""
    trials = 3 if settings.quick else 20
    rows: list[Row] = []
    starts: list[Row] = []
    for trial in range(trials):
        settings.progress(trial / trials, f"trial {trial + 1}")
        rows.append(noiseless(settings.seed + trial))
        starts.append(warm_started(settings.seed + trial))
    return Measured({"Without noise": rows, "Warm start": starts})


def noiseless(seed: int) -> Row:
    """Follow 300 steps of Algorithm 1 with λ = 0 on rows without noise."""
    sample = dirichlet_mixtures(100, 30, 8, random_state=seed)
    anchors, least_gap = sample.anchors, math.inf
    assert anchors is not None  # this generator plants them
    for _, (C, residual, gradient) in zip(range(301), algorithm_1(sample.data, 0.0, 1e-5)):
        fitted = np.linalg.norm(residual, axis=1) <= 1e-9
        two = np.partition(gradient, 1, axis=1)[~fitted]
        least_gap = min(least_gap, float((two[:, 1] - two[:, 0]).min(initial=math.inf)))
        # A row that is fitted exactly has a constant gradient, against (15): it stays.
        gradient[fitted, C[fitted].argmax(axis=1)] = -np.inf
    omega = float(np.linalg.norm(C @ sample.weights - sample.weights, axis=1).max())
    maxima = C.max(axis=0)
    return {
        "entries outside the anchors": int(np.count_nonzero(np.delete(maxima, anchors))),
        "smallest gap": least_gap,
        "ω √K / 2": 1 - lemma_1_bound(omega, sample.n_components),
        "smallest maximum of an anchor": float(maxima[anchors].min()),
    }


def warm_started(seed: int) -> Row:
    """Compare the smallest difference within an anchor's column to the bound of Proposition 1."""
    sample = dirichlet_mixtures(60, 30, 5, snr=20, random_state=seed)
    X, anchors, steps = sample.data, sample.anchors, 40
    chosen = spa(as_blocks(X), 5).anchors
    assert chosen is not None and anchors is not None  # SPA and the generator have them
    C = np.zeros((60, 60))
    C[:, chosen] = encoder(X[chosen], X.dtype, "simplex")(X)
    left = float(np.linalg.norm(C @ X - X))
    first = max(1, round(math.sqrt(X.size) / left))  # 1 / RMSE
    bound = proposition_1_bound(C[:, anchors], first, first + steps)
    path = algorithm_1(X, left / 5, 1e-5, C=C, first_step=first)
    last, _, _ = next(itertools.islice(path, steps, None))
    least = smallest_difference(last[:, anchors])
    return {"T": first + steps, "smallest difference": least, "bound": bound}


EXPERIMENTS = declare(
    Recipe(
        "and-theorems",
        and_theorems,
        {
            "binary-recovered": lambda t: cell(
                t, BINARY, "error / start", method=PAPER, weights="independent"
            ),
            "highest-correlation": lambda t: cell(
                t, BINARY, "error / start", method=PAPER, weights="pairs"
            ),
            "section-6.1-fails": lambda t: (
                cell(t, SECTION_6, "error", method=PAPER)
                / cell(t, SECTION_6, "absorbed", method=PAPER)
            ),
            "bounded-noise": lambda t: max(
                a / b for a, b in zip(column(t, NOISE, "error"), column(t, NOISE, "bound"))
            ),
            "noise-proportional": lambda t: max(
                abs(
                    exponent(
                        column(t, NOISE, "γ₂", noise=kind), column(t, NOISE, "error", noise=kind)
                    )
                    - 1
                )
                for kind in ("random", "adversarial")
            ),
        },
        variant={PAPER: VARIANT},
    ),
    Recipe(
        "purification-potential",
        coupled_potential,
        {
            "coupled-decreases": lambda t: cell(t, POTENTIAL, "largest factor"),
            "ends-small": lambda t: cell(t, POTENTIAL, "last") / cell(t, POTENTIAL, "first"),
        },
    ),
    Recipe(
        "merit-lemmas",
        merit_lemmas,
        {
            "support-in-anchors": lambda t: sum(
                column(t, "Without noise", "entries outside the anchors")
            ),
            "fact-1": lambda t: min(column(t, "Without noise", "smallest gap")),
            "lemma-1-condition": lambda t: max(column(t, "Without noise", "ω √K / 2")),
            "lemma-1": lambda t: min(
                a - (1 - b)
                for a, b in zip(
                    column(t, "Without noise", "smallest maximum of an anchor"),
                    column(t, "Without noise", "ω √K / 2"),
                )
            ),
            "proposition-1": lambda t: min(
                a / b
                for a, b in zip(
                    column(t, "Warm start", "smallest difference"), column(t, "Warm start", "bound")
                )
            ),
        },
        trials=lambda t: len(t.get("Without noise", ())),
    ),
)
