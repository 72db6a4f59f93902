"""Say whether components with a single maximum, as elution profiles, explain ordered data as well.

Nonnegativity alone leaves single runs of a chromatograph ambiguous; one maximum for each profile
narrows them down. Data may have it if neighboring columns are alike, and if HALS with unimodal
components is worse than HALS by no more than its k d fewer free entries explain: of N = n d entries
with equal noise, a fit of f free entries leaves the share (N − f) / N of the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.methods.alternating.estimator import HALS

MOST_ENTRIES = 10**6  # of the data; a fit of these takes about a second
LEAST_COLUMNS = 10  # for each component: fewer have one maximum by chance
ALIKE = 0.1  # squared difference of neighboring columns, by that of columns in random order


def peaks_note(blocks: Blocks, k: int) -> str:
    """Return advice to fit unimodal components to the data or their transpose, or nothing."""
    if blocks.is_sparse or np.prod(blocks.shape) > MOST_ENTRIES or k < 2:
        return ""
    data = np.asarray(blocks.everything(), dtype=np.float64)
    if not np.isfinite(data).all():
        return ""
    clip = ", clip_negative=True" if data.min() < 0 else ""
    data = np.maximum(data, 0.0)
    for matrix, name, remedy in ((data, "columns", "X"), (data.T, "rows", "X.T")):
        if _in_order(matrix, k) and _single_peaks(matrix, k):
            return (
                f"The {name} are in an order in which components with a single maximum each, as "
                f"elution profiles have, explain the data as well: HALS({k}, unimodal=True"
                f"{clip}).fit({remedy}) leaves fewer answers open"
            )
    return ""


def _in_order(matrix: NDArray[np.float64], k: int) -> bool:
    """Return whether neighboring columns are alike; without, fits would be a waste of time."""
    columns = matrix.shape[1]
    if columns < LEAST_COLUMNS * k:
        return False
    mixed = matrix[:, np.random.default_rng(0).permutation(columns)]
    near, far = (float((np.diff(each, axis=1) ** 2).sum()) for each in (matrix, mixed))
    return near < ALIKE * far


def _single_peaks(matrix: NDArray[np.float64], k: int) -> bool:
    """Return whether the constraint costs no more than noise explains."""
    n, d = matrix.shape
    left = n * d - k * (n + d - k)
    if left <= 0:
        return False
    free, unimodal = (
        HALS(k, init="spa", unimodal=one, certify=False, random_state=0).fit(matrix)
        for one in (False, True)
    )
    worse = unimodal.reconstruction_err_ / max(free.reconstruction_err_, 1e-300)
    return bool(worse**2 <= (n * d - k * n) / left)
