"""Trials of the separable methods on synthetic data: anchors, what they are worth, memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import as_blocks
from provenmf.datasets.sample import Sample
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.methods import make_estimator
from provenmf.methods.weights import encode
from provenmf.metrics.recovery import (
    mean_removed_spectral_angle,
    relative_approximation,
    success,
)
from provenmf.reproduce.experiment import Options, Settings
from provenmf.reproduce.memory import high_water_mark

# The iteration as the authors ran it: their λ, 100 steps whatever the gap, no grouping.
OPEN_LOOP: Options = {
    "step": "open-loop",
    "lam": "authors",
    "max_iter": 100,
    "tol": 0.0,
    "group_duplicates": 0.0,
}
METHODS: dict[str, tuple[str, Options]] = {
    "SPA": ("spa", {}),
    "FastGradient": ("fast_gradient", {"max_iter": 150, "tol": 0.0}),
    "MERIT open-loop": ("merit", OPEN_LOOP),
    "MERIT": ("merit", {}),
}

Generator = Callable[[float, int], Sample]


def fit_anchors(method: str, data: NDArray[np.floating], k: int, seed: int) -> NDArray[np.intp]:
    """Anchors found by one of `METHODS`."""
    stem, options = METHODS[method]
    estimator = make_estimator(stem, k, random_state=seed, certify=False, **options)
    return estimator.fit(data).anchors_


def true_anchors(sample: Sample) -> NDArray[np.intp]:
    """The anchors of separable data."""
    assert sample.anchors is not None  # these generators always plant them
    return sample.anchors


def trial_seed(seed: int, level: float, trial: int) -> int:
    """A seed for each trial of each level, whatever other levels are run."""
    entropy = (seed, round(1000 * level), trial)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def judge(sample: Sample, anchors: NDArray[np.intp]) -> tuple[float, float, float]:
    """Success, MRSA in [0, 100] and RAE of the chosen rows."""
    components = sample.data[anchors]
    weights = encode(as_blocks(sample.data), components, constraint="simplex")
    return (
        float(success(anchors, true_anchors(sample))),
        mean_removed_spectral_angle(components, sample.components),
        relative_approximation(sample.data, weights, components),
    )


def measure(
    generate: Generator,
    levels: Sequence[float],
    trials: int,
    settings: Settings,
    methods: Sequence[str] = tuple(METHODS),
) -> dict[str, NDArray[np.float64]]:
    """Means over the trials of success, MRSA and RAE: method -> (level, 3)."""
    sums = {method: np.zeros((len(levels), 3)) for method in methods}
    for row, level in enumerate(levels):
        for trial in range(trials):
            settings.progress((row + trial / trials) / len(levels), f"{level:g}, trial {trial + 1}")
            seed = trial_seed(settings.seed, level, trial)
            sample = generate(level, seed)
            for method in methods:
                anchors = fit_anchors(method, sample.data, sample.n_components, seed)
                sums[method][row] += judge(sample, anchors)
    return {method: total / trials for method, total in sums.items()}


def middle(snr: float, seed: int) -> Sample:
    """Data of Figs. 2 and 3: (d, n, K) = (50, 55, 10)."""
    return middle_points(10, 50, snr=snr, random_state=seed)


def mixed(snr: float, seed: int) -> Sample:
    """Data of Figs. 4a and 5: (d, n, K) = (50, 200, 40)."""
    return dirichlet_mixtures(200, 50, 40, snr=snr, random_state=seed)


def open_loop_rates(
    levels: Sequence[float], trials: int, settings: Settings, **options: Any
) -> list[float]:
    """Success rate at each SNR of the open-loop iteration with some options changed."""
    rates = []
    for row, snr in enumerate(levels):
        count = 0.0
        for trial in range(trials):
            settings.progress(row / len(levels), f"{options}, {snr:g} dB, trial {trial + 1}")
            sample = mixed(snr, trial_seed(settings.seed, snr, trial))
            merit = make_estimator("merit", 40, certify=False, **{**OPEN_LOOP, **options})
            count += success(merit.fit(sample.data).anchors_, true_anchors(sample))
        rates.append(count / trials)
    return rates


def peak_megabytes(method: str, n: int) -> float:
    """Peak memory of one fit of n rows beyond the data, in a fresh process."""
    code = f"from {__name__} import fit_megabytes; print(fit_megabytes({method!r}, {n}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def fit_megabytes(method: str, n: int) -> float:
    """The measuring part of `peak_megabytes`; memory freed earlier in the process is not seen."""
    stem, options = METHODS[method]
    if stem == "fast_gradient":  # its memory does not depend on the number of steps
        options = {**options, "max_iter": 3, "memory_limit": 64e9}
    estimator = make_estimator(stem, 40, random_state=0, certify=False, **options)
    small, data = (dirichlet_mixtures(m, 50, 40, snr=10, random_state=0).data for m in (60, n))
    estimator.fit(small)  # loads and compiles what is needed
    before = high_water_mark(restart=True)
    estimator.fit(data)
    return high_water_mark() - before
