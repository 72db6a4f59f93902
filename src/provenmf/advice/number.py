"""Find the number of components as that of singular values above the noise of the data.

`factorize`, `diagnose` and `choose_rank` count them here. The first two take the number only if the
spectrum is clear about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.advice.nested_fits import independent
from provenmf.data import Blocks
from provenmf.data.door import are_counts
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.storage import as_dense, check_scale

Floats = NDArray[np.float64]

ASK_RANK = "`provenmf rank` (choose_rank in Python) shows the evidence for each number"


@dataclass(frozen=True)
class Settings:
    """Thresholds of the spectrum; `benchmarks/recovery/automatic_number.py` shows its answers."""

    # Singular values must exceed the noise by this factor.
    margin: float = 1.1
    following: int = 3  # values that must look like noise after a clear number
    negligible: float = 1e-6  # of the largest value: rounding
    # The search ends after this many values in a row that are not above the noise.
    patience: int = 5
    most_values: int = 50
    # Larger data are judged on a sample with at most this many entries.
    sample_entries: int = 200_000
    flips: int = 8
    power_steps: int = 12


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular values, and the leading ones over the largest value that noise would have."""

    values: Floats
    over_noise: Floats

    @property
    def above(self) -> int:
        """Return the last value above the noise; equal components hide each other."""
        places = np.flatnonzero(self.over_noise > SETTINGS.margin)
        return int(places[-1]) + 1 if len(places) else 0

    @property
    def is_clear(self) -> bool:
        """Tell whether nothing but noise follows the last value above it.

        The first value is the mean, and says nothing: it may hide in noise, and it is one component
        only if all else is rounding.
        """
        k = self.above
        if k == 0:
            return False
        if self.values[k:].max(initial=0.0) <= SETTINGS.negligible * self.values[0]:
            return True
        after = self.over_noise[k : k + SETTINGS.following]
        above = (self.over_noise[1:k] > SETTINGS.margin).all()
        return bool(k > 1 and above and len(after) and after.max() <= 1)

    @property
    def likeliest(self) -> int:
        """Return the number if it is clear, or the one above one with the largest fall after it."""
        if self.is_clear or len(self.over_noise) < 3:
            return max(self.above, 1)
        falls = self.over_noise[1:-1] / np.maximum(self.over_noise[2:], SETTINGS.negligible)
        return 2 + int(np.argmax(falls))

    def __str__(self) -> str:
        k = self.above
        ratios = [f"{ratio:.3g} times" for ratio in self.over_noise[max(k - 1, 0) : k + 1]]
        if not ratios:
            return "there are too few singular values to compare with noise"
        followed = f", and the next one {ratios[1]}" if len(ratios) == 2 else ""
        return f"singular value {max(k, 1)} is {ratios[0]} what noise would give{followed}"


def settled_number(blocks: Blocks) -> tuple[int, str]:
    """Return the number that the data settle, and a sentence that says how; otherwise refuse."""
    found = spectrum_of(blocks)
    if not found.is_clear:
        raise InvalidInput(
            f"The data do not determine the number of components: {found}",
            argument="n_components",
            remedy=f"give {{argument}}, perhaps {found.likeliest}; {ASK_RANK}",
        )
    note = f"Number of components chosen automatically: {found.above}; {found}"
    return found.above, f"{note}; give the number if you know it"


def spectrum_of(blocks: Blocks) -> Spectrum:
    """Return the spectrum of data, or of a sample of large data."""
    rng = np.random.default_rng(0)
    matrix, _ = sample(blocks, rng)
    if np.isnan(matrix).any():
        raise InvalidInput(
            "Some entries are missing (NaN), and the number of components cannot be chosen without",
            argument="n_components",
            remedy=f"fill them, or give {{argument}}; {ASK_RANK}",
        )
    return spectrum(matrix, rng, counts=are_counts(blocks))


def spectrum(
    matrix: Floats, rng: np.random.Generator, *, counts: bool, most: int | None = None
) -> Spectrum:
    """Return the singular values of a matrix, with the noise level of the leading ones.

    The noise level is the largest singular value of the deflated matrix under random signs. These
    break up whatever structure the remainder has and keep the size of every entry, so that noise
    may differ from entry to entry (Hong, Sheng & Dobriban 2020, Selecting the number of components
    in PCA via random signflips; deflation: Dobriban & Owen 2019). Differs: signs are drawn for the
    deflated matrix, since the mean of nonnegative data would count as noise. What is left in n - k
    rows and d - k columns is spread over all by the signs, so that the level is raised by the
    square root of n d / ((n - k) (d - k)).

    Counts are divided by the square roots of their margins, which equalizes the variance of Poisson
    noise. At most `most` values are compared, or all up to the first that is within the noise.
    """
    if counts:
        matrix = matrix / np.sqrt(independent(matrix, np.ones(matrix.shape, dtype=bool)))
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    (n, d), rest, ratios, lost = matrix.shape, matrix.copy(), [], 0
    for k in range(min(most or SETTINGS.most_values, len(values) - 1)):
        if most is None and lost == SETTINGS.patience:
            break
        noise = _noise_level(rest, values[0], rng) * np.sqrt(n * d / ((n - k) * (d - k)))
        ratios.append(values[k] / noise)
        lost = 0 if ratios[-1] > SETTINGS.margin else lost + 1
        rest -= values[k] * np.outer(left[:, k], right[k])
    return Spectrum(values, np.array(ratios))


def _noise_level(rest: Floats, largest: float, rng: np.random.Generator) -> float:
    """Return the largest singular value of the remainder under random signs."""
    rounding = largest * max(rest.shape) * np.finfo(np.float64).eps
    levels = [_norm(rest * rng.choice([-1.0, 1.0], rest.shape), rng) for _ in range(SETTINGS.flips)]
    return float(max(*levels, rounding))


def _norm(matrix: Floats, rng: np.random.Generator) -> float:
    """Return the largest singular value by power iteration: from below, and close for noise."""
    block = rng.standard_normal((matrix.shape[1], 4))
    for _ in range(SETTINGS.power_steps):
        block = np.linalg.qr(matrix.T @ (matrix @ block))[0]
    return float(np.linalg.norm(matrix @ block, 2))


def sample(blocks: Blocks, rng: np.random.Generator) -> tuple[Floats, list[str]]:
    """Return a dense matrix of moderate size without empty rows and columns, and notes.

    Of larger data these are random rows, and the columns with the most energy.
    """
    n, d = blocks.shape
    rows, columns, most = np.arange(n), np.arange(d), SETTINGS.sample_entries
    if n * d > most:
        n_columns = min(d, max(100, int(np.sqrt(most)), most // n))
        n_rows = min(n, max(1, most // n_columns))

        def energy(block: Any) -> Floats:
            turned = block.T.tocsr() if blocks.is_sparse else block.T
            return np.nan_to_num(np.asarray(squared_row_norms(turned)))

        rows = np.sort(rng.choice(n, n_rows, replace=False))
        order = np.argsort(-np.asarray(blocks.map_reduce(energy)), kind="stable")
        columns = np.sort(order[:n_columns])
    part = blocks.everything() if len(rows) == n else blocks.take(rows)
    matrix = np.ascontiguousarray(as_dense(part[:, columns]), dtype=np.float64)
    if np.isinf(matrix).any():
        raise InvalidInput("X has infinite entries: remove them or give finite numbers")
    check_scale(float(np.abs(np.nan_to_num(matrix)).max(initial=0.0)))
    filled = np.nan_to_num(matrix) != 0
    kept = matrix[filled.any(axis=1)][:, filled.any(axis=0)]
    if not kept.size:
        raise InvalidInput("X has no entry that is not zero: there is nothing to factorize")
    if kept.shape == (n, d):
        return kept, []
    most_energy = ", those with the most energy" if len(columns) < d else ""
    judged = f"Judged on {kept.shape[0]:,} of {n:,} rows and {kept.shape[1]:,} of {d:,} columns"
    return kept, [judged + most_energy]
