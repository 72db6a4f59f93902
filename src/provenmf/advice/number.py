"""Find the number of components in a few passes, or say that the data do not determine it.

Three kinds of evidence look for the largest drop in a falling sequence: singular values (how many
directions carry the data), lengths left by successive projection (how many anchors), and
farthest-first angles (how many cones). A drop is the ratio of the values before and after it; 1 is
no drop. `noise_spectrum` compares singular values with noise that it takes from the data.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.data.base import MappedBlocks
from provenmf.data.door import at_safe_scale
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.spectral import GRAM_COLUMNS, gram_of_columns, leading_eigenpairs
from provenmf.linalg.storage import as_dense, stored_values, without_negative
from provenmf.methods import estimator_class
from provenmf.results.states import AnchorState, ConeState

Floats = NDArray[np.float64]

ASK_RANK = "`provenmf rank` (choose_rank in Python) shows the evidence for each number"


@dataclass(frozen=True)
class Settings:
    """Thresholds of this file; the experiments are in `benchmarks/recovery/automatic_number.py`."""

    clear_drop: float = 2.0  # experiment: noise alone shows smaller drops
    rounding_drop: float = 1e4  # nothing but rounding is left after a larger drop
    # Singular values must exceed the noise by this factor: after deflation random signs make noise
    # a little smaller than it was (experiment).
    margin: float = 1.15
    # The first value left out may exceed it by this: the noise of counts does, up to 1.24.
    left_over: float = 1.3
    # Negative entries with at most this share of the sum of squares (baselines of spectra, noise)
    # leave the data nonnegative for the singular values.
    negligible: float = 1e-3
    most_directions: int = 50
    # Larger data are judged on a sample with at most this many entries.
    sample_entries: int = 200_000
    flips: int = 8
    power_steps: int = 12


SETTINGS = Settings()


@dataclass(frozen=True)
class RankEvidence:
    """One suggestion for the number of components.

    Attributes
    ----------
    source : str
        "singular values", "anchors" or "cones".
    n_components : int
        The suggested number.
    drop : float
        The factor by which the sequence falls after it.
    """

    source: str
    n_components: int
    drop: float

    @property
    def is_clear(self) -> bool:
        """Tell whether the drop is larger than noise would show."""
        return self.drop >= SETTINGS.clear_drop


def rank_evidence(blocks: Blocks) -> list[RankEvidence]:
    """Return the suggestions for the number of components."""
    blocks = at_safe_scale(blocks)
    negative, total = blocks.map_reduce(_negative_squares)
    nonnegative = negative <= SETTINGS.negligible * total
    if nonnegative and negative:  # noise below a baseline must not change the number
        blocks = MappedBlocks(blocks, without_negative)
    fit = estimator_class("spa")(certify=False).fit(blocks).factorization_
    drop = AnchorState.of(fit).drop
    evidence = [RankEvidence("anchors", fit.n_components, 1.0 if math.isnan(drop) else drop)]
    evidence = _from_singular_values(blocks, nonnegative=nonnegative) + evidence
    if nonnegative:
        evidence.append(_from_cones(blocks))
    return [replace(item, drop=1.0) if _says_nothing(item, blocks) else item for item in evidence]


def settled_number(blocks: Blocks) -> tuple[int, str]:
    """Return the number that the data settle, and a sentence that says how; otherwise refuse.

    Two suggestions must agree, no clear one may contradict them, the last component must be more
    than noise, and what is left must look like noise.
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
        clear = [item.n_components for item in evidence if item.is_clear]
        spread = f", perhaps from {min(clear)} to {max(clear)}" if len(set(clear)) > 1 else ""
        raise InvalidInput(
            f"The data do not determine the number of components; {_listed(evidence)}{more}",
            argument="n_components",
            remedy=f"give {{argument}}{spread}; {ASK_RANK}",
        )
    agreeing = [item for item in evidence if item.is_clear and item.n_components == number]
    doubt = [item for item in evidence if item.n_components != number]
    note = f"Number of components chosen automatically: {number}; {_listed(agreeing)}"
    note += f", but {_listed(doubt)}" if doubt else ""
    return number, f"{note}; give the number if you know it"


def agreed_number(evidence: list[RankEvidence]) -> int | None:
    """Return the number that at least two clear suggestions share, or None."""
    votes = Counter(item.n_components for item in evidence if item.is_clear)
    number, count = votes.most_common(1)[0] if votes else (0, 0)
    return number if count >= 2 else None


def objection_to(number: int, evidence: list[RankEvidence], blocks: Blocks) -> str | None:
    """Return why a number that two suggestions share is still doubtful, or None."""
    if any(item.is_clear and item.n_components != number for item in evidence):
        return "the clear drops contradict each other"
    rng = np.random.default_rng(0)
    part, columns = sample(blocks, rng)
    matrix = np.asarray(as_dense(part[:, columns]), dtype=np.float64)
    following = _over_noise(matrix, number, rng)
    if following > SETTINGS.left_over:
        return f"singular value {number + 1} is {following:.2g} times what noise would give"
    last = _over_noise(matrix, number - 1, rng)
    unanimous = all(item.is_clear for item in evidence)
    if last < SETTINGS.margin and not unanimous:  # signs leave a component of one column as it is
        return f"singular value {number} is only {last:.3g} times what noise would give"
    return None


def _listed(evidence: list[RankEvidence]) -> str:
    return ", ".join(
        f"{item.source} suggest {item.n_components} "
        + (f"(drop by a factor of {item.drop:.2g})" if item.is_clear else "(no clear drop)")
        for item in evidence
    )


def _says_nothing(item: RankEvidence, blocks: Blocks) -> bool:
    """Return whether the number carries no information: the full rank, or one for any mean.

    Only if all else is rounding do the data have one component.
    """
    if item.n_components >= min(blocks.shape):
        return True
    return item.n_components == 1 and item.drop < SETTINGS.rounding_drop


def largest_ratio(values: Floats, *, first: int = 1) -> tuple[int, float]:
    """Return the index and the factor of the largest relative drop of a descending sequence.

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
    largest = min(SETTINGS.most_directions, *blocks.shape)
    if blocks.n_columns > GRAM_COLUMNS or largest < 2:
        return []
    gram = blocks.map_reduce(gram_of_columns)
    wanted = min(largest + 1, *blocks.shape)
    values = np.sqrt(leading_eigenpairs(gram, blocks.n_columns, wanted).values)
    if values[0] == 0:
        return []
    # The mean of nonnegative rows outweighs all other directions, whatever their parts are.
    return [RankEvidence("singular values", *largest_ratio(values, first=2 if nonnegative else 1))]


def _from_cones(blocks: Blocks) -> RankEvidence:
    fit = estimator_class("cones")(certify=False).fit(blocks).factorization_
    angles, k = ConeState.of(fit).farthest_first_angles, fit.n_components
    if angles is None:  # data of zeros have no direction
        return RankEvidence("cones", k, 1.0)
    return RankEvidence("cones", k, float(angles[k - 1] / max(angles[k], 1e-8)))


def _count_missing(block: Block) -> int:
    return int(np.count_nonzero(np.isnan(stored_values(block))))


def _negative_squares(block: Block) -> Floats:
    """Return the sum of squares of the negative entries, and of all."""
    values = stored_values(block).astype(np.float64)
    return np.array([np.sum(np.minimum(values, 0.0) ** 2), np.sum(values**2)])


def sample(
    blocks: Blocks, rng: np.random.Generator, most: int = SETTINGS.sample_entries
) -> tuple[Block, NDArray[np.intp]]:
    """Return random rows and the columns with the most energy; small data as they are."""
    n, d = blocks.shape
    if n * d <= most:
        return blocks.everything(), np.arange(d)
    n_columns = min(d, max(100, int(np.sqrt(most)), most // n))
    n_rows = min(n, max(1, most // n_columns))
    rows = np.sort(rng.choice(n, n_rows, replace=False))

    def energy(block: Any) -> Floats:
        return np.asarray(squared_row_norms(block.T.tocsr() if blocks.is_sparse else block.T))

    order = np.argsort(-np.nan_to_num(np.asarray(blocks.map_reduce(energy))), kind="stable")
    columns = np.sort(order[:n_columns])
    return blocks.take(rows) if n_rows < n else blocks.everything(), columns


def noise_spectrum(matrix: Floats, most: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the singular values, and the noise level beside each of the leading ones.

    The noise level is the largest singular value of the deflated matrix under random signs.

    Random signs break up whatever structure the remainder has and keep the size of every entry, so
    that noise may differ from entry to entry (Hong, Sheng & Dobriban 2020, Selecting the number of
    components in PCA via random signflips; deflation: Dobriban & Owen 2019). Differs: signs are
    drawn for the deflated matrix, since the mean of nonnegative data would count as noise.
    """
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    rest, noise = matrix.copy(), []
    for k in range(min(most, len(values) - 1)):
        noise.append(_noise_level(rest, values[0], rng))
        rest -= values[k] * np.outer(left[:, k], right[k])
    return values, np.array(noise)


def above_noise(values: Floats, noise: Floats) -> int:
    """Return the last value above its noise by the margin; equal components hide each other."""
    above = np.flatnonzero(values[: len(noise)] > SETTINGS.margin * noise)
    return int(above[-1]) + 1 if len(above) else 0


def _over_noise(matrix: Floats, k: int, rng: np.random.Generator) -> float:
    """Return the (k+1)-th singular value over its noise level."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if k >= len(values):
        return 0.0
    rest = matrix - (left[:, :k] * values[:k]) @ right[:k]
    return float(values[k] / _noise_level(rest, values[0], rng))


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
