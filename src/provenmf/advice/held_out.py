"""How well entries are predicted that a fit has not seen: a speckled mask (Wold 1978)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from provenmf.budget import for_row_slices
from provenmf.errors import DegenerateData
from provenmf.methods.alternating.estimator import HALS

Floats = NDArray[np.float64]


def held_out_errors(
    matrix: Floats,
    ranks: Sequence[int],
    *,
    share: float,
    repeats: int,
    rng: np.random.Generator,
    done: Callable[[], object] = lambda: None,
    **options: Any,
) -> Floats:
    """Relative errors (repeats, ranks) at entries left out at random.

    Each repeat hides `share` of the entries that are observed; all ranks see the same mask, so
    that their difference does not depend on which entries were drawn. `options` are those of HALS.
    """
    seen = ~np.isnan(matrix)
    masks = [seen & (rng.random(matrix.shape) < share) for _ in range(repeats)]
    seeds = rng.integers(np.iinfo(np.int32).max, size=repeats)
    errors = np.empty((repeats, len(ranks)))

    def fit(which: slice) -> None:
        repeat, place = divmod(which.start, len(ranks))
        hidden = masks[repeat]
        model = HALS(
            ranks[place], random_state=int(seeds[repeat]), certify=False, coarse=False, **options
        )
        weights = model.fit_transform(np.where(hidden, np.nan, matrix))
        left = matrix[hidden] - (weights @ model.components_)[hidden]
        size = np.linalg.norm(matrix[hidden])
        errors[repeat, place] = np.linalg.norm(left) / size if size > 0 else 0.0
        done()

    with warnings.catch_warnings():  # around all threads: filters belong to the process
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateData)
        for_row_slices(fit, repeats * len(ranks), slice_rows=1)
    return errors
