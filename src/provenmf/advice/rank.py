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

from provenmf.advice.sample import moderate_part
from provenmf.advice.spectrum import MARGIN, next_above_noise
from provenmf.data import Block, Blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.spectral import GRAM_COLUMNS, gram_of_columns, leading_eigenpairs
from provenmf.linalg.storage import as_dense, stored_values
from provenmf.methods import estimator_class
from provenmf.results.states import AnchorState, ConeState

# A drop by less than this factor is what noise shows too.
CLEAR_DROP = 2.0
# What is left may be so many times what random signs give: noise that differs from entry to entry,
# as that of counts, exceeds them (up to 1.24 on the data of `benchmarks/automatic_number.py`).
LEFT_OVER = 1.3
# A drop by more than this factor leaves nothing but rounding.
ROUNDING_DROP = 1e4
ASK_RANK = "`provenmf rank` (choose_rank in Python) shows the evidence for each number"
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
    return [replace(item, drop=1.0) if _says_nothing(item, blocks) else item for item in evidence]


def settled_number(blocks: Blocks) -> tuple[int, str]:
    """The number that the data settle, with a sentence that says how; otherwise refuse.

    Two suggestions must agree, no clear one may contradict them, the last component must be more
    than noise, and what is left must look like noise: where spectra vary within the materials,
    say, drops agree on too few, and cones of rows have more dimensions than there are cones.
    """
    if blocks.map_reduce(_count_missing):
        raise InvalidInput(
            "Some entries are missing, so the number of components cannot be chosen automatically",
            argument="n_components",
            remedy=f"give {{argument}}; {ASK_RANK}",
        )
    evidence = rank_evidence(blocks)
    number = agreed_number(evidence)
    objection = None if number is None else objection_to(number, evidence, blocks)
    if number is None or objection is not None:
        more = "" if objection is None else f", but {objection}"
        raise InvalidInput(
            f"The data do not determine the number of components; {_listed(evidence)}{more}",
            argument="n_components",
            remedy=f"give {{argument}}{_spread(evidence)}; {ASK_RANK}",
        )
    agreeing = [item for item in evidence if item.is_clear and item.n_components == number]
    doubt = [item for item in evidence if item.n_components != number]
    note = f"Number of components chosen automatically: {number}; {_listed(agreeing)}"
    note += f", but {_listed(doubt)}" if doubt else ""
    return number, f"{note}; give the number if you know it"


def objection_to(number: int, evidence: list[RankEvidence], blocks: Blocks) -> str | None:
    """Why a number on which two suggestions agree is doubtful all the same, or None."""
    if any(item.is_clear and item.n_components != number for item in evidence):
        return "the clear drops contradict each other"
    last, following = against_noise_of(blocks, number)
    if following > LEFT_OVER:
        return f"singular value {number + 1} is {following:.2g} times what noise would give"
    unanimous = all(item.is_clear for item in evidence)
    if last < MARGIN and not unanimous:  # signs leave a component of one column as it is
        return f"singular value {number} is only {last:.3g} times what noise would give"
    return None


def agreed_number(evidence: list[RankEvidence]) -> int | None:
    """The number that at least two clear suggestions share, or None."""
    votes = Counter(item.n_components for item in evidence if item.is_clear)
    number, count = votes.most_common(1)[0] if votes else (0, 0)
    return number if count >= 2 else None


def against_noise_of(blocks: Blocks, number: int) -> tuple[float, float]:
    """The last singular value of this number, and the next one, over what noise would give."""
    rng = np.random.default_rng(0)
    part, columns = moderate_part(blocks, rng)
    matrix = np.asarray(as_dense(part[:, columns]), dtype=np.float64)
    following = next_above_noise(matrix, number, rng)
    return next_above_noise(matrix, number - 1, rng), following


def _listed(evidence: list[RankEvidence]) -> str:
    """Each suggestion in a few words."""
    return ", ".join(
        f"{item.source} suggest {item.n_components} "
        + (f"(drop by a factor of {item.drop:.2g})" if item.is_clear else "(no clear drop)")
        for item in evidence
    )


def _spread(evidence: list[RankEvidence]) -> str:
    """The range of the clear suggestions, where they differ."""
    numbers = [item.n_components for item in evidence if item.is_clear]
    if len(set(numbers)) < 2:
        return ""
    return f", perhaps from {min(numbers)} to {max(numbers)}"


def _says_nothing(item: RankEvidence, blocks: Blocks) -> bool:
    """As many components as rows or columns explain any data; one is the mean of any data.

    Only if all else is rounding do the data have one component.
    """
    if item.n_components >= min(blocks.shape):
        return True
    return item.n_components == 1 and item.drop < ROUNDING_DROP


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


def _count_missing(block: Block) -> int:
    return int(np.count_nonzero(np.isnan(stored_values(block))))


def _count_negative(block: Block) -> int:
    return int(np.count_nonzero(stored_values(block) < 0))
