"""Find the components of a factorization again in half of the rows; the others judge them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from provenmf.certificate.evidence import (
    HAS_MISSING,
    confirm_components,
    equal_rows,
    numbered_units,
    without_judgement,
)
from provenmf.data import Blocks
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.norms import unit_rows
from provenmf.linalg.storage import as_dense
from provenmf.methods.certify import estimator_of
from provenmf.results import Factorization
from provenmf.results.estimates import Evidence


@dataclass(frozen=True)
class Settings:
    """Which rows are compared, and from which likeness on they count as dependent.

    Walks and copies of rows have a likeness of .86 to 1 that `predicts`, 17 real sets and 14 kinds
    of null data whose columns do not predict each other at most .67 (benchmarks/EXPERIMENTS.md).
    """

    most_rows: int = 20_000  # of a random sample of larger data
    neighbors: int = 2000  # first rows, whose residuals are compared
    entries: int = 1_000_000  # of these rows
    permutations: int = 199  # more alike than in all of them by chance: one time in 200
    alike: float = 0.05  # correlations below this narrow an interval by less than 5 %
    copies: float = 0.8  # cosine in both halves of the columns from which a row repeats another
    predicts: float = 0.8  # median cosine in half of the columns of rows nearest in the other
    nearer: float = 3.0  # by this factor than independent rows come, if columns predict each other
    falls: float = 0.15  # by so much for the few nearest rows: more make a kind of rows
    few: int = 25  # of so many rows one may be among the few nearest


SETTINGS = Settings()


def evidence_on_rows(
    blocks: Blocks,
    result: Factorization,
    groups: ArrayLike | None,
    random_state: int,
    *,
    noun: str = "component",
    row: str = "row",
) -> Evidence:
    """Judge a factorization by its own method and parameters; `blocks` are its data."""
    n, k = blocks.n_rows, result.n_components
    if isinstance(blocks, ObservedBlocks):
        return without_judgement(k, n, HAS_MISSING, {"noun": noun, "row": row})
    chosen = np.arange(n)
    if n > SETTINGS.most_rows:
        rng = np.random.default_rng(random_state)
        chosen = np.sort(rng.choice(n, SETTINGS.most_rows, replace=False))
    data = blocks.take(chosen) if len(chosen) < n else blocks.everything()
    estimator = estimator_of(result)
    quiet = {"n_components": k, "certify": False, "n_init": 1, "callback": None, "verbose": 0}
    estimator.set_params(**{a: v for a, v in quiet.items() if a in estimator.get_params()})

    def find(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        again = type(estimator)(**estimator.get_params()).fit(data[rows])
        return np.asarray(again.components_, dtype=np.float64)

    units, unit, doubt = None, "group", ""
    if groups is not None:
        units = numbered_units(groups, n)[chosen]
    else:
        units, doubt = dependence_of_rows(data, result, chosen, row)
        unit = ""
    evidence = confirm_components(
        data,
        find,
        result.components,
        groups=units,
        counts=result.method == "poisson",
        noun=noun,
        row=row,
        unit=unit,
        random_state=random_state,
    )
    return replace(evidence, sampled_from=n if len(chosen) < n else 0, doubt=doubt)


def dependence_of_rows(
    data: Any, result: Factorization, rows: NDArray[np.intp], row: str = "row"
) -> tuple[NDArray[np.intp] | None, str]:
    """Return units of rows that nearly repeat each other, and what speaks against independence.

    The residuals of neighboring rows must not be more alike than after random permutations, and no
    row may predict another one as its near copy would. Near copies become units, like equal rows,
    if all rows are compared and no unit is large; None if there are none. `data` are those `rows`
    of the factorized matrix; of equal rows, which judge together anyway, the first is compared.
    """
    equal = equal_rows(data)
    firsts = np.unique(equal, return_index=True)[1]  # in the order of the rows
    some = firsts[: max(2, min(SETTINGS.neighbors, SETTINGS.entries // data.shape[1]))]
    if len(some) < 2:
        return None, ""
    left = as_dense(data[some]) - result.weights[rows[some]] @ result.components
    left -= left.mean(axis=0)
    rng, units, doubt = np.random.default_rng(0), None, ""
    copies = _near_copies(left, rng)
    if copies.any():
        unit = connected_components(copies, directed=False)[1]
        doubt = f"Many {row}s nearly repeat others"
        if len(some) == len(firsts) and np.bincount(unit).max() <= len(some) / SETTINGS.few + 1:
            units = unit[equal].astype(np.intp)
    similar = _similar_neighbors(unit_rows(left), rng)
    if similar:
        doubt = f"Neighboring {row}s have similar residuals (correlation {similar:.2f})"
    return units, doubt


def _similar_neighbors(left: NDArray[np.floating], rng: np.random.Generator) -> float:
    """Return the mean cosine of residuals of neighboring rows; 0 if it can be chance."""
    gram, order = left @ left.T, np.arange(len(left))

    def alike(order: NDArray[np.intp]) -> float:
        return float(gram[order[:-1], order[1:]].mean())

    similar = alike(order)
    chance = max(alike(rng.permutation(order)) for _ in range(SETTINGS.permutations))
    return similar if similar > max(chance, SETTINGS.alike) else 0.0


def _near_copies(left: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows repeat each other (n, n); none unless the typical row repeats a few others.

    The row that is nearest in one half of the columns is near in the other half, too, if it is a
    copy, or if columns predict each other. Random combinations of the rows, which are independent
    and whose columns covary as these do, tell the two apart.
    """
    n, d = left.shape
    none = np.zeros((n, n), dtype=bool)
    few = n // SETTINGS.few
    if d < 4 or few < 2:
        return none
    columns, spread = rng.permutation(d), left.std(axis=0)
    left = left / np.where(spread > 0, spread, 1.0)

    def likeness(rows: NDArray[np.floating]) -> list[NDArray[Any]]:
        halves = [unit_rows(rows[:, half]) for half in np.array_split(columns, 2)]
        grams: list[NDArray[Any]] = [half @ half.T for half in halves]
        for gram in grams:
            np.fill_diagonal(gram, -1.0)
        return grams

    def predicts(grams: list[NDArray[Any]], rank: int) -> float:
        seen, unseen = grams
        place = np.argpartition(-seen, rank, axis=1)[:, rank] if rank else seen.argmax(axis=1)
        return float(np.median(unseen[np.arange(n), place]))

    alike = likeness(left)
    nearest = predicts(alike, 0)
    if nearest < SETTINGS.predicts or predicts(alike, few - 1) > nearest - SETTINGS.falls:
        return none
    chance = likeness(rng.standard_normal((n, n)) @ left)
    if SETTINGS.nearer * (1.0 - nearest) > 1.0 - predicts(chance, 0):
        return none
    limit = max(SETTINGS.copies, float(np.minimum(*chance).max()))
    return np.asarray(np.minimum(*alike) > limit)
