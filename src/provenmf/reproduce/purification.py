"""Experiments for Theorems 1 and 2 of Li, Liang and Risteski (2016), which has none of its own.

Features have absolute sum one, so c = d·C_ν is the size ‖ν‖₁ of the noise in a row, to be compared
with the size of the signal, ‖A*x*‖₁ ≤ s, the number of features in a row.
"""

from __future__ import annotations

import math
from typing import Any

from provenmf.datasets.purification import overlapping_features, sample_purification, warm_start
from provenmf.reproduce.experiment import Experiment, Figure, Outcome, Row, Series, Settings
from provenmf.reproduce.purification_trials import (
    exact_sample,
    mean_factor,
    purify_sample,
    slope,
)

PAPER = "Li16"
PROOF_ETA = 1.0 / 60.0


def theorem_1(settings: Settings) -> Outcome:
    """Geometric decrease without noise; with adversarial noise an error proportional to c."""
    levels = 11 if settings.quick else 17
    features = overlapping_features(levels - 1, 20 * levels, random_state=settings.seed)
    start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
    clean = exact_sample(features, levels, 2)
    rows: list[Row] = []
    curves = []
    for name, eta, iterations in (
        ("default, 1/2", 0.5, 60),
        ("as in the proof, 1/60", PROOF_ETA, 300),
    ):
        trial = purify_sample(clean, start, step_size=eta, max_iter=iterations, tol=1e-12)
        sizes = trial.trace["truth_mixing"]
        rate = mean_factor(sizes, above=1e-10)
        rows.append(
            {
                "eta": name,
                "iterations": len(sizes),
                "first": sizes[0],
                "last": sizes[-1],
                "mean factor": rate,
                "factor in the proof": 1 - eta / 25,
            }
        )
        curves.append(Series(f"eta {name}", list(range(1, len(sizes) + 1)), sizes.tolist()))
        settings.progress(len(rows) / 4, f"no noise, eta {name}")
    noisy, lines = _noise_sweep(settings, features, levels, start)
    geometric = all(row["mean factor"] <= row["factor in the proof"] for row in rows)
    slopes = [line["slope"] for line in lines]
    proportional = all(0.9 <= value <= 1.1 for value in slopes)
    worst = max(row["error / c"] for row in noisy)
    verdict = (
        f"Without noise, each iteration multiplies the mixing by {rows[0]['mean factor']:.2f} with "
        f"the default step and by {rows[1]['mean factor']:.4f} with the proof's, which promises "
        f"{rows[1]['factor in the proof']:.4f}. Under adversarial noise up to c = "
        f"{noisy[-1]['c']:.2g} (signal: about {noisy[-1]['signal']:.2g}) the final error grows "
        f"like c^{min(slopes):.2f} to c^{max(slopes):.2f} and is at most {worst:.2g} c."
    )
    figures = [
        Figure("Decrease without noise", "iteration", "‖E‖_s", curves, log_y=True),
        Figure(
            "Final error under adversarial noise",
            "c = ‖ν‖₁",
            "‖E‖_1 + ‖N‖_1",
            [line["series"] for line in lines],
            log_x=True,
            log_y=True,
        ),
    ]
    tables = {"Without noise": rows, "Adversarial noise": noisy}
    return Outcome(tables, verdict, geometric and proportional and worst <= 2, figures)


def _noise_sweep(
    settings: Settings, features: Any, levels: int, start: Any
) -> tuple[list[Row], list[Row]]:
    sizes = [0.03, 0.3, 1.0] if settings.quick else [0.01, 0.03, 0.1, 0.3, 1.0]
    rows: list[Row] = []
    lines: list[Row] = []
    for adversary in ("decoding", "features"):
        errors = []
        for c in sizes:
            sample = exact_sample(
                features,
                levels,
                2,
                noise=adversary,
                noise_level=c / features.shape[1],
                random_state=settings.seed + 2,
            )
            trial = purify_sample(sample, start)
            errors.append(trial.error)
            rows.append(
                {
                    "adversary": adversary,
                    "c": c,
                    "signal": float(sample.weights.sum(axis=1).mean()),
                    "E": trial.mixing,
                    "N": trial.outside,
                    "error / c": trial.error / c,
                }
            )
            settings.progress(0.5 + len(rows) / (4 * len(sizes)), f"{adversary}, c = {c}")
        lines.append({"slope": slope(sizes, errors), "series": Series(adversary, sizes, errors)})
    return rows, lines


def theorem_2(settings: Settings) -> Outcome:
    """Unbiased noise of the same size does at most 1/√k of the damage, and averages out."""
    rows: list[Row] = []
    numbers = [7, 13] if settings.quick else [7, 11, 17, 23]
    for levels in numbers:
        features = overlapping_features(levels, 20 * levels, random_state=settings.seed)
        start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
        trials = {
            noise: purify_sample(
                exact_sample(
                    features,
                    levels,
                    2,
                    noise=noise,
                    noise_level=1.0 / features.shape[1],
                    random_state=settings.seed + 2,
                ),
                start,
            )
            for noise in ("decoding", "unbiased")
        }
        rows.append(
            {
                "k": levels,
                "rows": levels**3,
                "adversarial": trials["decoding"].error,
                "unbiased": trials["unbiased"].error,
                "ratio": trials["unbiased"].error / trials["decoding"].error,
                "1/sqrt(k)": 1 / math.sqrt(levels),
            }
        )
        settings.progress(len(rows) / (len(numbers) + 1), f"k = {levels}")
    samples = _sample_sweep(settings)
    power = slope([row["rows"] for row in samples], [row["unbiased"] for row in samples])
    below = all(row["unbiased"] <= row["1/sqrt(k)"] for row in rows)
    verdict = (
        f"Unbiased noise with ‖ν‖₁ = 1 leaves an error of {rows[0]['unbiased']:.2g} to "
        f"{rows[-1]['unbiased']:.2g}, below ‖ν‖₁/√k for every k; adversarial noise leaves "
        f"{rows[0]['adversarial']:.2g} to {rows[-1]['adversarial']:.2g}. With unbiased noise √k "
        f"times as large ({samples[-1]['c']:.2g}) the error falls like n^{power:.2f} with the "
        f"number of rows."
    )
    figure = Figure(
        "Unbiased noise √k times as large, more and more rows",
        "rows",
        "‖E‖_1 + ‖N‖_1",
        [
            Series("unbiased", [r["rows"] for r in samples], [r["unbiased"] for r in samples]),
            Series("no noise", [r["rows"] for r in samples], [r["no noise"] for r in samples]),
        ],
        log_x=True,
        log_y=True,
    )
    tables = {"Unbiased against adversarial": rows, "Rows": samples}
    return Outcome(tables, verdict, below and -0.65 <= power <= -0.35, [figure])


def _sample_sweep(settings: Settings) -> list[Row]:
    """Independent random rows: the sampling error with and without noise."""
    k, d = 9, 180
    numbers = [1000, 4000, 16000] if settings.quick else [1000, 4000, 16000, 64000]
    rows: list[Row] = []
    for n in numbers:
        errors = {}
        for noise in (None, "unbiased"):
            sample = sample_purification(
                n,
                d,
                k,
                noise=noise,
                noise_level=math.sqrt(k) / d,
                random_state=settings.seed + 3,
            )
            start = warm_start(sample.components, mixing=0.1, random_state=settings.seed + 4)
            errors[noise] = purify_sample(sample, start, tol=1e-4).error
        rows.append(
            {"rows": n, "c": math.sqrt(k), "no noise": errors[None], "unbiased": errors["unbiased"]}
        )
    return rows


EXPERIMENTS = [
    Experiment(
        "purification-theorem1",
        PAPER,
        "geometric decrease, and an error proportional to adversarial noise",
        "From a start with ‖E‖_s ≤ 1/10 the mixing decreases geometrically down to ε + c, where "
        "adversarial noise of size c may be as large as the signal (Theorem 1).",
        theorem_1,
    ),
    Experiment(
        "purification-theorem2",
        PAPER,
        "unbiased noise",
        "Unbiased noise may be √k times as large as adversarial noise for the same error: the "
        "final error is O(‖ν‖₁/√k) (Theorem 2 and its remarks).",
        theorem_2,
    ),
]
