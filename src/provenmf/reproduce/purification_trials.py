"""One run of Purification on data whose truth is known, and how far it ends from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.data import as_blocks
from provenmf.datasets.purification import noisy_sample, orthogonal_array_weights
from provenmf.datasets.sample import Sample
from provenmf.linalg.mixing import mixing_of
from provenmf.linalg.norms import largest_row_sum
from provenmf.methods.purification.solver import purification
from provenmf.results import Trace


class Trial(NamedTuple):
    """‖E‖_1 and ‖N‖_1 relative to Σ of the last iteration, and the trace."""

    mixing: float
    outside: float
    trace: Trace

    @property
    def error(self) -> float:
        """‖E‖_1 + ‖N‖_1: bounds ‖Â − A*‖_1/2 for features scaled to absolute sum one."""
        return self.mixing + self.outside


def purify_sample(sample: Sample, start: NDArray[np.floating], **settings: Any) -> Trial:
    """Purify and compare with the truth."""
    found = purification(as_blocks(sample.data), start, truth=sample.components, **settings)
    relative = mixing_of(found.components, sample.components).relative()
    return Trial(
        largest_row_sum(relative.off_diagonal), largest_row_sum(relative.outside), found.trace
    )


def exact_sample(
    components: NDArray[np.float64], levels: int, hits: ArrayLike, **noise: Any
) -> Sample:
    """Data whose weights have the moments of infinitely many independent samples."""
    weights = orthogonal_array_weights(len(components), levels, hits=hits)
    return noisy_sample(weights, components, **noise)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent p of y ∝ x^p, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def mean_factor(values: NDArray[np.floating], *, above: float) -> float:
    """Mean factor from one entry to the next, as long as they are larger than `above`."""
    used = values[: int(np.count_nonzero(np.cumprod(values > above)))]
    if used.size < 2:
        return float("nan")
    return float((used[-1] / used[0]) ** (1.0 / (used.size - 1)))
