"""Which threshold each AND stage uses: the paper's sequence, or one that watches the errors.

Theorem 4 of Li17 ties the threshold of a stage to the error at its beginning. The error is not
known, but two traces of it are:

* how far the decoded weights moved in the last stage (their root mean square, per component). The
  move is the error that was just removed, so what is left is of that order or smaller;
* negative decoded weights. True weights are nonnegative, so whatever is negative is error, be it
  of the features or from noise in the data, and positive errors are as large.

The next threshold of a component is a multiple of the larger of the two, never more than the last
one (a threshold that rises loses support it had earned) and never less than a tenth of it. It thus
falls tenfold a stage while things go well, waits while they do not, and stays above the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.methods.and_descent.sums import StageSums

Array = NDArray[np.float64]

MOVES = 4.0  # threshold over the root mean square move of the decoded weights
NEGATIVES = 3.0  # threshold over the root mean square of negative decoded weights
FASTEST = 10.0  # largest fall of a threshold in one stage
HEAVY_TAIL = 2.0  # root mean square over mean of the negatives; 1.25 for normal noise
SLOW = 0.5  # a component that moves more than this share of its last move is slow
FALLING = 0.95  # negative weights above this share of earlier ones did not become smaller


def paper_threshold(alpha: float, decay: float, stage: int) -> float:
    """α_j = α/decay^j for j = 1, 2, …, as in the authors' code; stages are counted from 0 here."""
    with np.errstate(over="ignore"):  # a threshold below the smallest number is zero
        return float(alpha / np.float64(decay) ** (stage + 1))


def next_thresholds(thresholds: Array, movement: Array, sums: StageSums) -> Array:
    """The adaptive rule described at the top of this file."""
    wanted = np.maximum(MOVES * movement, NEGATIVES * negative_size(sums))
    return np.clip(wanted, thresholds / FASTEST, thresholds)


def decoded_movement(change: Array, sums: StageSums) -> Array:
    """Root mean square move of each decoded weight when raw weights r become r @ change."""
    step = change - np.eye(len(change))
    squared = np.einsum("li,lm,mi->i", step, sums.raw_gram, step)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0) / sums.rows))


def components_to_watch(
    movement: Array,
    last_movement: Array,
    size: Array,
    size_when_watched: Array,
    sums: StageSums,
    *,
    most: int,
) -> NDArray[np.intp]:
    """Components that the next stage should look at more closely (see `and_facets`).

    Either few rows decode to far more negative weights than the others, which noise does not do,
    or the component contracts slowly. If looking did not make its negative weights smaller, the
    reason is noise or a model that does not fit, and it is left alone. `size` is that of the
    negative weights now, `size_when_watched` the one when the component was last watched. If there
    are more than `most`, uneven ones go first, and those that move more.
    """
    count, total, _ = sums.negative
    mean = total / np.maximum(count, 1.0)
    uneven = (size > HEAVY_TAIL * mean) & (size * np.sqrt(count / sums.rows) > 0.1 * movement)
    slow = movement > SLOW * last_movement
    useful = np.flatnonzero((uneven | slow) & (size < FALLING * size_when_watched))
    order = np.lexsort((-movement[useful], ~uneven[useful]))
    return np.sort(useful[order[:most]])


def negative_size(sums: StageSums) -> Array:
    """Root mean square of the negative decoded weights of each component."""
    count, _, squares = sums.negative
    return np.asarray(np.sqrt(squares / np.maximum(count, 1.0)))
