"""What the choices in Purification are worth: the left inverse that decodes, and the start."""

from __future__ import annotations

from typing import Any

import numpy as np

from provenmf.data import as_blocks
from provenmf.datasets.purification import (
    adversarial_noise,
    overlapping_features,
    sample_purification,
    warm_start,
)
from provenmf.linalg.left_inverse import PseudoInverse, left_inverse
from provenmf.methods.purification.kernels import relu_decode
from provenmf.methods.weights import encode
from provenmf.reproduce.experiment import Experiment, Figure, Outcome, Row, Series, Settings
from provenmf.reproduce.purification_trials import exact_sample, purify_sample

PAPER = "Li16"
KINDS: tuple[PseudoInverse, ...] = ("min-inf", "moore-penrose")


def pseudo_inverse(settings: Settings) -> Outcome:
    """Each left inverse against adversaries that know it or the other one."""
    levels = 11 if settings.quick else 17
    k, d = levels - 1, 20 * levels
    overlaps = [0.2, 0.5, 0.8] if settings.quick else [0.0, 0.2, 0.4, 0.6, 0.8, 0.9]
    rows: list[Row] = []
    for overlap in overlaps:
        features = overlapping_features(k, d, overlap=overlap, random_state=settings.seed)
        start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
        row: Row = {"overlap": overlap}
        attacks = [
            exact_sample(
                features,
                levels,
                1,
                noise="decoding",
                noise_level=0.3 / d,
                against=attacked,
                random_state=settings.seed + 2,
            )
            for attacked in KINDS
        ]
        for kind in KINDS:
            inverse = left_inverse(features, kind)
            row[f"{kind} norm"] = inverse.infinity_norm
            row[f"{kind} worst weight"] = max(
                float(np.abs(relu_decode(s.data, inverse.rows, 0.0) - s.weights).max())
                for s in attacks
            )
            row[f"{kind} final E"] = max(
                purify_sample(s, start, pseudo_inverse=kind).mixing for s in attacks
            )
        row["least squares worst weight"] = _worst_least_squares_weight(features)
        rows.append(row)
        settings.progress(len(rows) / len(overlaps), f"overlap {overlap}")
    gains = [row["moore-penrose worst weight"] / row["min-inf worst weight"] for row in rows]
    mixing = [row["moore-penrose final E"] / row["min-inf final E"] for row in rows]
    verdict = (
        f"Two adversaries with c = 0.3 each aim at one of the inverses. Under the worse one, the "
        f"largest error of a weight decoded with the least infinity norm is "
        f"{rows[0]['min-inf worst weight']:.2g} to {rows[-1]['min-inf worst weight']:.2g}; with "
        f"Moore-Penrose it is {min(gains):.2f} to {max(gains):.2f} times as large. After "
        f"purification, Moore-Penrose leaves {min(mixing):.2f} to {max(mixing):.2f} times the "
        "mixing."
    )
    holds = all(gain >= 1 - 1e-9 for gain in gains)
    figure = Figure(
        "Worst decoded weight under adversarial noise",
        "overlap of the features",
        "largest error of a weight",
        [
            Series(kind, overlaps, [row[f"{kind} worst weight"] for row in rows])
            for kind in ("min-inf", "moore-penrose", "least squares")
        ],
        log_y=True,
    )
    return Outcome({"Left inverses": rows}, verdict, holds, [figure])


def _worst_least_squares_weight(features: np.ndarray[Any, Any]) -> float:
    """Nonnegative least squares on rows with one feature, against Moore-Penrose's adversary."""
    weights = np.eye(len(features))
    noise = adversarial_noise(
        weights, features, 0.3 / features.shape[1], against="moore-penrose", random_state=0
    )
    found = encode(as_blocks(weights @ features + noise), features)
    return float(np.abs(found - weights).max())


def starts(settings: Settings) -> Outcome:
    """How warm must a start be? The theorems ask for ‖E‖_s ≤ 1/10."""
    k, d, n = (8, 160, 3000) if settings.quick else (16, 320, 10000)
    trials = 2 if settings.quick else 5
    sizes = [0.1, 0.5, 1.0, 2.0, 4.0]
    rows: list[Row] = []
    for size in sizes:
        errors = []
        for trial in range(trials):
            sample = sample_purification(
                n, d, k, noise="decoding", noise_level=0.1 / d, random_state=settings.seed + trial
            )
            begin = warm_start(sample.components, mixing=size, random_state=settings.seed + trial)
            errors.append(purify_sample(sample, begin, tol=1e-4).error)
        rows.append(
            {"‖E‖_s of the start": size, "mean error": np.mean(errors), "worst": max(errors)}
        )
        settings.progress(len(rows) / len(sizes), f"start with {size}")
    best = min(row["worst"] for row in rows)
    reached = max(
        (row["‖E‖_s of the start"] for row in rows if row["worst"] <= 1.1 * best), default=0.0
    )
    verdict = (
        f"Starts with ‖E‖_s up to {reached:g} end at the same error as starts with 1/10, which the "
        f"theorems ask for. The error is {best:.2g} at worst, most of it sampling error."
    )
    figure = Figure(
        "Final error against the start",
        "‖E‖_s of the start",
        "‖E‖_1 + ‖N‖_1",
        [Series("worst of the trials", sizes, [row["worst"] for row in rows])],
        log_x=True,
        log_y=True,
    )
    return Outcome({"Starts": rows}, verdict, reached >= 0.1, [figure])


EXPERIMENTS = [
    Experiment(
        "purification-pseudo-inverse",
        PAPER,
        "least infinity norm against Moore-Penrose",
        "The pseudo-inverse with the least infinity norm maximises the robustness to noise "
        "(Section 4).",
        pseudo_inverse,
    ),
    Experiment(
        "purification-starts",
        PAPER,
        "how warm the start must be",
        "A constant warm start, ‖E‖_s ≤ 1/10, is sufficient (A3 and Theorem 1).",
        starts,
    ),
]
