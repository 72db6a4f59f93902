"""Separable data with their truth: rows are mixtures of anchor rows that are themselves present.

The two settings of Nguyen, Fu & Wu 2021 (Nguyen22), Section V-A, in our orientation:

    data = weights @ components + noise,   weights[anchors] = I,   rows of weights on the simplex

SNR = 10 log10( ‖weights @ components‖²_F / (n d σ²) ) in decibels, σ² the variance of one entry of
the noise; for structured noise n d σ² is its squared norm. A sample's `noise_level` is
‖noise‖_F / ‖weights @ components‖_F, and its extras hold the `noise`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import generator
from provenmf.datasets.sample import Sample


def middle_points(
    n_components: int = 10,
    n_columns: int = 50,
    *,
    snr: float = np.inf,
    random_state: int | np.random.Generator | None = None,
) -> Sample:
    """Draw anchors and the middles of all pairs, pushed outwards (Nguyen22, Figs. 2 and 3).

    k components give n = k + k(k−1)/2 rows. The noise is structured: each middle point moves
    away from the mean of the components, in proportion to its distance from it, anchors stay
    clean, and the whole is scaled so that the SNR is met exactly. So middle points look extreme.
    Components are uniform on (0, 1) and scaled to sum one, as in the authors' program; the paper
    does not mention the scaling.
    """
    rng = generator(random_state)
    components = rng.random((n_components, n_columns))
    components /= components.sum(axis=1, keepdims=True)
    halves = np.zeros((n_components * (n_components - 1) // 2, n_components))
    for row, pair in enumerate(combinations(range(n_components), 2)):
        halves[row, list(pair)] = 0.5
    weights = np.vstack([np.eye(n_components), halves])
    clean = weights @ components
    outwards = clean - components.mean(axis=0)
    outwards[:n_components] = 0.0
    length = np.linalg.norm(outwards)
    size = np.linalg.norm(clean) / 10 ** (snr / 20)
    noise = outwards * (size / length) if length > 0 else outwards
    return _shuffled(components, weights, noise, rng)


def dirichlet_mixtures(
    n_rows: int = 200,
    n_columns: int = 50,
    n_components: int = 40,
    *,
    snr: float = np.inf,
    concentration: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> Sample:
    """Draw anchors and Dirichlet mixtures with Gaussian noise (Nguyen22, Figs. 4, 5, Table I).

    Components are uniform on (0, 1); n − k rows of weights are Dirichlet(concentration, …);
    noise is N(0, σ²) in every entry, anchors included, with σ² from the SNR.
    """
    rng = generator(random_state)
    components = rng.random((n_components, n_columns))
    mixed = rng.dirichlet(np.full(n_components, concentration), n_rows - n_components)
    weights = np.vstack([np.eye(n_components), mixed])
    power = np.mean((weights @ components) ** 2)
    sigma = np.sqrt(power / 10 ** (snr / 10))
    noise = sigma * rng.standard_normal((n_rows, n_columns))
    return _shuffled(components, weights, noise, rng)


def _shuffled(
    components: NDArray[np.float64],
    weights: NDArray[np.float64],
    noise: NDArray[np.float64],
    rng: np.random.Generator,
) -> Sample:
    """Shuffle the rows; the anchors keep the order of the components."""
    order = rng.permutation(len(weights))
    place = np.argsort(order)
    weights, noise = weights[order], noise[order]
    clean = weights @ components
    return Sample(
        data=clean + noise,
        components=components,
        weights=weights,
        anchors=place[: len(components)],
        noise_level=float(np.linalg.norm(noise) / np.linalg.norm(clean)),
        extras={"noise": noise},
    )
