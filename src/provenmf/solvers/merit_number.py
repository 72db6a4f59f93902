"""Reading the anchors, and where it is not given their number, off the largest entries of C."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import DegenerateData
from provenmf.solvers.merit_dictionary import representatives


def choose_anchors(
    dictionary: NDArray[np.intp],
    maxima: NDArray[np.float64],
    n_components: int | None,
    fallback: NDArray[np.intp],
    X: NDArray[Any],
    radius: float,
) -> tuple[NDArray[np.intp], float]:
    """Rows with the largest maxima, largest first, and the gap between the last one and the next.

    With n_components=None the number is where the sorted maxima drop most. If fewer rows than
    asked for are in use at all, rows of `fallback` that are no duplicates fill up.
    """
    order = np.argsort(-maxima, kind="stable")
    used = order[maxima[order] > 0]
    sorted_maxima = np.append(maxima[used], 0.0)
    drops = sorted_maxima[:-1] - sorted_maxima[1:]
    if n_components is None:
        n_components = int(np.argmax(drops)) + 1
    chosen = dictionary[used[:n_components]]
    if len(chosen) == n_components:
        return chosen, float(drops[n_components - 1])
    both = np.concatenate([chosen, np.setdiff1d(fallback, chosen, assume_unique=True)])
    filled = representatives(X, both, radius)[:n_components]
    if len(filled) < n_components:
        warnings.warn(
            f"n_components={n_components}, but {len(filled)} rows explain every row: "
            f"{len(filled)} components are returned; ask for at most that many",
            DegenerateData,
            stacklevel=4,
        )
    return filled, 0.0
