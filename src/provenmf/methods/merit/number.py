"""The number of anchors.

The number of anchors and the penalty are found together and without the truth. The penalty lam
should be a little more than the squared noise of a row (`Settings.noise_multiple`), which is known
once the anchors are; the anchors are those rows whose largest weights stand out at this lam. So we
look for a pair that fits: going down from a penalty as large as the spread of the rows, the largest
drop of the sorted maxima names some rows; the noise that these leave gives a lam; if the same rows
stand out at that lam, they explain themselves. The largest lam, so the fewest anchors, comes first:
smaller ones can fit too, up to every row being its own anchor.

Noise can blur the maxima where the geometry is still clear. If no lam fits, nested anchors of SPA
and FastAnchor are tried: k of them are right if each is farther from the hull of the others than
any other row is from the hull of all, by a clear factor. The regular simplex has the factor
k^2 / (k^2 - 1) where a corner is missing; it is divided out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.hull import distances_to_other_points, nearest_points
from provenmf.linalg.norms import squared_row_norms
from provenmf.methods.merit import settings
from provenmf.methods.merit.start import greedy_anchors, missed, sample_of
from provenmf.methods.separable.anchors import MOST_ANCHORS, dense_rows
from provenmf.signals import interrupted

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]
# The dictionary and the largest weight of each of its rows, for a penalty.
Solve = Callable[[float], tuple[Indices, Floats]]


@dataclass(frozen=True)
class Reading:
    """Rows that stand out at a penalty: their number, the drop behind them, the noise they leave.

    settled : whether most rows represent themselves, so that lower penalties tell nothing.
    """

    lam: float
    anchors: frozenset[int]
    drop: float
    squared_noise: float
    settled: bool

    @property
    def number(self) -> int:
        """Number of rows that stand out."""
        return len(self.anchors)


def find_number(blocks: Blocks, solve: Solve) -> tuple[int, str]:
    """Return the number of anchors, and the evidence for it in a sentence.

    solve : returns the dictionary and the largest weight of each of its rows for a penalty.

    Raises
    ------
    InvalidInput
        No number fits; the message has the evidence.
    """
    sample = sample_of(blocks)
    squared = squared_row_norms(sample)
    mean = np.asarray(sample.mean(axis=0, dtype=np.float64)).ravel()
    spread = float(squared.mean() - mean @ mean)
    exact = settings.SETTINGS.exact * float(squared.max())
    if spread <= exact:
        return 1, "all rows are equal"

    def read(lam: float) -> Reading:
        return reading_at(lam, *solve(lam), blocks, sample)

    readings: list[Reading] = []
    found = fitting_penalty(read, spread, exact, readings)
    if found is not None:
        return found.number, (
            f"{found.number} rows stand out, by {found.drop:.2g}, at the penalty that follows from "
            "the noise that they leave"
        )
    number, factor = clearest_gap(sample)
    least = settings.SETTINGS.clear_gap
    if factor >= least:
        return number, (
            f"no penalty tells anchors apart, but each of {number} rows is farther from the hull "
            f"of the others than any row is from the hull of all: {factor:.3g} times, squared"
        )
    seen = ", ".join(f"{r.number} by {r.drop:.2f}" for r in readings[:8])
    raise InvalidInput(
        f"cannot be found: no number of anchors fits the noise that it leaves. Rows that stood out "
        f"along the path of penalties: {seen}. Clearest gap of distances: {number} rows, "
        f"{factor:.3g} times ({least:g} are needed)",
        argument="n_components",
        value=None,
        remedy="give {argument}; choose_rank (provenmf rank) shows the evidence for each number",
    )


def fitting_penalty(
    read: Callable[[float], Reading], spread: float, exact: float, readings: list[Reading]
) -> Reading | None:
    """Return the rows that stand out most among those at a penalty that follows from their noise.

    An anchor that is missed can pass for noise, so that fewer rows may fit a larger penalty; they
    stand out less. All readings are appended to the list.
    """
    limits = settings.SETTINGS
    tried: set[frozenset[int]] = set()
    best: Reading | None = None
    for halvings in range(limits.path_steps):
        reading = read(spread / 2**halvings)
        readings.append(reading)
        if reading.settled or interrupted():
            break
        if reading.drop < limits.least_drop / 2 or reading.anchors in tried:
            continue
        tried.add(reading.anchors)
        if reading.squared_noise <= exact:
            return reading
        for multiple in (limits.noise_multiple, 1.5 * limits.noise_multiple):
            again = read(multiple * reading.squared_noise)
            readings.append(again)
            if again.anchors == reading.anchors and again.drop >= limits.least_drop:
                best = again if best is None or again.drop > best.drop else best
                break
    return best


def reading_at(
    lam: float, dictionary: Indices, maxima: Floats, blocks: Blocks, sample: Block
) -> Reading:
    """Return the rows before the largest drop of the sorted maxima, and the noise that they leave.

    At most half of the rows: with more of them, an explanation would be no shorter than the data.
    """
    order = np.argsort(-maxima, kind="stable")
    ordered = np.append(maxima[order], 0.0)
    drops = (ordered[:-1] - ordered[1:])[: max(1, len(order) // 2)]
    number = int(np.argmax(drops)) + 1
    anchors = dictionary[order[:number]]
    return Reading(
        lam,
        frozenset(anchors.tolist()),
        float(drops[number - 1]),
        missed(sample, blocks, anchors) / sample.shape[0],
        settled=bool(np.count_nonzero(maxima >= settings.SETTINGS.strong) > len(order) / 2),
    )


def clearest_gap(rows: Block) -> tuple[int, float]:
    """Return the number of nested greedy anchors that stand out most from the other rows.

    And by what factor: the least squared distance of an anchor to the hull of the others, to the
    largest squared distance of any other row to the hull of all.
    """
    blocks = as_blocks(rows)
    most = min(MOST_ANCHORS, blocks.n_rows // 2, blocks.n_columns + 1)
    best = 1, 0.0
    for order in greedy_anchors(blocks, most, refine=False).values():
        corners = dense_rows(blocks, order).astype(np.float64)
        for number in range(2, len(order) + 1):
            left = nearest_points(rows, corners[:number])[0]
            left[order[:number]] = 0.0
            apart = distances_to_other_points(corners[:number])[0].min() ** 2
            factor = apart / max(left.max(), 1e-300) * (1 - 1 / number**2)
            if factor > best[1]:
                best = number, float(factor)
    return best
