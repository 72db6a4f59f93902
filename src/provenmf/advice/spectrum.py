"""How many singular values stand above the noise, with the noise taken from the data themselves.

Parallel analysis by random signs, after deflation: what k singular pairs leave of X gets random
signs, which breaks up whatever structure it has and keeps the size of every entry, so that noise
may differ from entry to entry. The (k+1)-th singular value counts if it exceeds the largest one
of such matrices by a margin: after deflation signs make noise a little smaller than it was. The
number is the last that counts; equally strong components hide each other before it.

Hong21    Hong, Sheng & Dobriban 2020, Selecting the number of components in PCA via random
          signflips
Dobriban19  Dobriban & Owen 2019, Deterministic parallel analysis (deflation)

Differs: signs are drawn for the deflated matrix, since the mean of nonnegative data would otherwise
count as noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLIPS = 8
POWER_STEPS = 12
MARGIN = 1.15


@dataclass(frozen=True, eq=False)
class NoiseSpectrum:
    """Singular values (descending), the noise level beside each, and how many are above."""

    values: Floats
    noise: Floats

    @property
    def n_components(self) -> int:
        """The last value that is above its noise by the margin."""
        above = np.flatnonzero(self.values[: len(self.noise)] > MARGIN * self.noise)
        return int(above[-1]) + 1 if len(above) else 0


def against_noise(matrix: Floats, most: int, rng: np.random.Generator) -> NoiseSpectrum:
    """The leading singular values beside those of the deflated matrix with random signs."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    rest = matrix.copy()
    rounding = _rounding(values, matrix.shape)
    noise = []
    for k in range(min(most, len(values) - 1)):
        noise.append(_noise_level(rest, rounding, rng))
        rest -= values[k] * np.outer(left[:, k], right[k])
    return NoiseSpectrum(values, np.array(noise))


def next_above_noise(matrix: Floats, k: int, rng: np.random.Generator) -> float:
    """The (k+1)-th singular value over its noise level; what exceeds 1.15 is more than noise."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if k >= len(values):
        return 0.0
    rest = matrix - (left[:, :k] * values[:k]) @ right[:k]
    return float(values[k] / _noise_level(rest, _rounding(values, matrix.shape), rng))


def _noise_level(rest: Floats, rounding: float, rng: np.random.Generator) -> float:
    """The largest singular value of what is left, with random signs."""
    largest = [_norm(rest * rng.choice([-1.0, 1.0], rest.shape), rng) for _ in range(FLIPS)]
    return max(*largest, rounding)


def _rounding(values: Floats, shape: tuple[int, int]) -> float:
    return float(values[0] * max(shape) * np.finfo(np.float64).eps)


def _norm(matrix: Floats, rng: np.random.Generator) -> float:
    """The largest singular value, by power iteration: from below, and close for noise."""
    block = rng.standard_normal((matrix.shape[1], 4))
    for _ in range(POWER_STEPS):
        block = np.linalg.qr(matrix.T @ (matrix @ block))[0]
    return float(np.linalg.norm(matrix @ block, 2))
