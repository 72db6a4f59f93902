"""The record that every generator returns: data with their true factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Sample:
    """Data (n, d) = weights (n, k) @ components (k, d) + noise, with everything known.

    anchors : rows of the data that are pure (a multiple of one component), one per component
        and in the order of the components, where the model plants them.
    labels : the component or cluster of each row, where the model has one.
    noise_level : what the generator's docstring says it is; 0 for exact data.
    extras : further truth of one model, by name.
    """

    data: NDArray[np.float64]
    components: NDArray[np.float64]
    weights: NDArray[np.float64]
    anchors: NDArray[np.intp] | None = None
    labels: NDArray[np.intp] | None = None
    noise_level: float = 0.0
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_components(self) -> int:
        """Number of true components."""
        return int(self.components.shape[0])
