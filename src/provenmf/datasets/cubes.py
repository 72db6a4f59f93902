"""Hyperspectral cubes mixed from known spectra, with noise that differs from band to band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import generator
from provenmf.errors import InvalidInput

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MixedCube:
    """A cube with its true spectra and abundances.

    Parameters
    ----------
    cube : ndarray of shape (rows, columns, bands)
        Abundances times endmembers, plus noise; may have negative entries.
    endmembers : ndarray of shape (k, bands)
        Pure spectra.
    abundances : ndarray of shape (pixels, k)
        Rows sum to one.
    noise : ndarray of shape (bands,)
        Standard deviation of the noise in each band.
    """

    cube: Floats
    endmembers: Floats
    abundances: Floats
    noise: Floats


def mixed_cube(
    n_rows: int = 60,
    n_columns: int = 60,
    n_bands: int = 100,
    n_endmembers: int = 4,
    *,
    snr: float = 30.0,
    pure_share: float = 0.05,
    concentration: float = 1.0,
    most: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> MixedCube:
    """Mix smooth spectra with Dirichlet abundances and add independent Gaussian noise.

    Parameters
    ----------
    n_rows, n_columns, n_bands, n_endmembers : int
        Size of the cube and number of materials.
    snr : float, default=30.0
        Signal to noise ratio in decibels, 10 log₁₀ (signal energy / noise energy); inf for none.
        The standard deviations of the bands are log-uniform over a factor of 10.
    pure_share : float, default=0.05
        Share of the pixels that hold one material only, at least one pixel each unless 0.
    concentration : float, default=1.0
        Of the Dirichlet distribution of the other pixels' abundances.
    most : float, default=1.0
        Largest abundance of a pixel that is not pure, more than 1 / k; abundances beyond it are
        drawn again. With `pure_share=0` and `most=0.8` no pixel is pure.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    MixedCube

    Examples
    --------
    >>> from provenmf.datasets.cubes import mixed_cube
    >>> made = mixed_cube(8, 6, 50, 3, snr=40.0, random_state=0)
    >>> made.cube.shape, made.endmembers.shape, made.abundances.shape
    ((8, 6, 50), (3, 50), (48, 3))
    """
    n_pixels = n_rows * n_columns
    if not 1 <= n_endmembers <= min(n_pixels, n_bands):
        raise InvalidInput(
            f"n_endmembers={n_endmembers} must be at least 1 and at most the {n_pixels} pixels "
            f"and {n_bands} bands"
        )
    if not 0 <= pure_share <= 1:
        raise InvalidInput(f"pure_share={pure_share} must be between 0 and 1")
    rng = generator(random_state)
    endmembers = smooth_spectra(n_endmembers, n_bands, rng)
    abundances = _capped_dirichlet(n_pixels, n_endmembers, concentration, most, rng)
    n_pure = max(n_endmembers, round(pure_share * n_pixels)) if pure_share > 0 else 0
    pure = rng.choice(n_pixels, size=n_pure, replace=False)
    abundances[pure] = np.eye(n_endmembers)[np.arange(n_pure) % n_endmembers]
    signal = abundances @ endmembers
    profile = 10.0 ** rng.random(n_bands)
    energy = np.mean(signal**2) / 10 ** (snr / 10)
    noise = profile * np.sqrt(energy / np.mean(profile**2))
    cube = (signal + noise * rng.standard_normal(signal.shape)).reshape(n_rows, n_columns, n_bands)
    return MixedCube(cube, endmembers, abundances, noise)


def smooth_spectra(k: int, n_bands: int, rng: np.random.Generator) -> Floats:
    """Draw reflectances (k, bands) in (0, 1): a level, a slope and six bumps or dips each."""
    places = np.linspace(0.0, 1.0, n_bands)
    centres = rng.uniform(-0.1, 1.1, (k, 6, 1))
    widths = rng.uniform(0.03, 0.2, (k, 6, 1))
    heights = rng.uniform(-1.5, 1.5, (k, 6, 1))
    bumps = (heights * np.exp(-0.5 * ((places - centres) / widths) ** 2)).sum(axis=1)
    level = rng.uniform(-2.0, 1.0, (k, 1)) + rng.uniform(-1.0, 1.0, (k, 1)) * places
    spectra: Floats = 1.0 / (1.0 + np.exp(-(level + bumps)))
    return spectra


def _capped_dirichlet(
    n: int, k: int, concentration: float, most: float, rng: np.random.Generator
) -> Floats:
    """Draw Dirichlet rows (n, k) until no entry exceeds `most`."""
    if k > 1 and not 1.0 / k < most:
        raise InvalidInput(f"most={most} must be more than 1 / {k}, the mean abundance")
    rows: Floats = rng.dirichlet(np.full(k, concentration), size=n)
    over = np.flatnonzero(rows.max(axis=1) > most) if most < 1 else np.empty(0, np.intp)
    for _ in range(1000):
        if not len(over):
            return rows
        rows[over] = rng.dirichlet(np.full(k, concentration), size=len(over))
        over = over[rows[over].max(axis=1) > most]
    raise InvalidInput(
        f"most={most} is too rare a maximum for concentration={concentration}: raise either"
    )
