"""How many components: three kinds of evidence, and whether they agree.

Each looks for the largest drop in a falling sequence: singular values (how many directions carry
the data), lengths left by successive projection (how many anchors), farthest-first angles (how
many cones). A drop is stated as the ratio of the values before and after it: 1 is no drop at all.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.estimators import estimator_class
from provenmf.linalg.spectral import GRAM_COLUMNS, gram_of_columns, leading_eigenpairs
from provenmf.records.states import AnchorState, ConeState
from provenmf.storage import stored_values

# A drop by less than this factor is what noise shows too.
CLEAR_DROP = 2.0
# Singular values looked at.
MOST_DIRECTIONS = 50


@dataclass(frozen=True)
class RankEvidence:
    """One suggestion: where it comes from, the number, and the drop behind it."""

    source: str
    n_components: int
    drop: float

    @property
    def is_clear(self) -> bool:
        """Whether the drop is larger than noise would show."""
        return self.drop >= CLEAR_DROP


def rank_evidence(blocks: Blocks) -> list[RankEvidence]:
    """Suggestions for the number of components."""
    anchors = _from_anchors(blocks)  # first, since it refuses data that no method can use
    nonnegative = not blocks.map_reduce(_count_negative)
    evidence = [*_from_singular_values(blocks, nonnegative=nonnegative), anchors]
    if nonnegative:
        evidence.append(_from_cones(blocks))
    # As many components as rows or columns explain any data: such a drop says nothing.
    return [
        replace(item, drop=1.0) if item.n_components >= min(blocks.shape) else item
        for item in evidence
    ]


def agreed_number(evidence: list[RankEvidence]) -> int | None:
    """The number that at least two clear suggestions share, or None."""
    votes = Counter(item.n_components for item in evidence if item.is_clear)
    number, count = votes.most_common(1)[0] if votes else (0, 0)
    return number if count >= 2 else None


def largest_ratio(values: NDArray[np.float64], *, first: int = 1) -> tuple[int, float]:
    """Where a falling sequence falls by the largest factor: how many before, and the factor.

    At least `first` values come before it, unless those after are rounding errors.
    """
    floor = 10 * values[0] * np.finfo(np.float64).eps ** 0.5  # rounding of a Gram matrix
    kept = np.maximum(values, floor)
    ratios = kept[:-1] / kept[1:]
    if kept[1] > floor:
        ratios[: first - 1] = 1.0
    place = int(np.argmax(ratios))
    return place + 1, float(ratios[place])


def _from_singular_values(blocks: Blocks, *, nonnegative: bool) -> list[RankEvidence]:
    largest = min(MOST_DIRECTIONS, *blocks.shape)
    if blocks.n_columns > GRAM_COLUMNS or largest < 2:
        return []
    gram = blocks.map_reduce(gram_of_columns)
    wanted = min(largest + 1, *blocks.shape)
    values = np.sqrt(leading_eigenpairs(gram, blocks.n_columns, wanted).values)
    if values[0] == 0:
        return []
    # The mean of nonnegative rows outweighs all other directions, whatever their parts are.
    return [RankEvidence("singular values", *largest_ratio(values, first=2 if nonnegative else 1))]


def _from_anchors(blocks: Blocks) -> RankEvidence:
    fit = estimator_class("spa")(certify=False).fit(blocks).factorization_
    drop = AnchorState.of(fit).drop
    return RankEvidence("anchors", fit.n_components, 1.0 if math.isnan(drop) else drop)


def _from_cones(blocks: Blocks) -> RankEvidence:
    fit = estimator_class("cones")(certify=False).fit(blocks).factorization_
    angles, k = ConeState.of(fit).farthest_first_angles, fit.n_components
    if angles is None:  # data of zeros have no direction
        return RankEvidence("cones", k, 1.0)
    return RankEvidence("cones", k, float(angles[k - 1] / max(angles[k], 1e-8)))


def _count_negative(block: Block) -> int:
    return int(np.count_nonzero(stored_values(block) < 0))
