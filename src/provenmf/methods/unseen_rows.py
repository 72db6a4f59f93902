"""Find the components of a factorization again in half of the rows; the others judge them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    """How many rows are compared, and from which likeness on neighbors count as dependent."""

    most_rows: int = 20_000  # of a random sample of larger data
    neighbors: int = 2000  # rows whose residuals are compared with those of the next row
    entries: int = 4_000_000  # of these rows
    permutations: int = 199  # more alike than in all of them by chance: one time in 200
    alike: float = 0.05  # correlations below this narrow an interval by less than 5 %


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

    evidence = confirm_components(
        data,
        find,
        result.components,
        groups=None if groups is None else numbered_units(groups, n)[chosen],
        counts=result.method == "poisson",
        noun=noun,
        row=row,
        random_state=random_state,
    )
    doubt = "" if groups is not None else dependence_of_rows(data, result, chosen, row)
    return replace(evidence, sampled_from=n if len(chosen) < n else 0, doubt=doubt)


def dependence_of_rows(
    data: Any, result: Factorization, rows: NDArray[np.intp], row: str = "row"
) -> str:
    """Return a sentence if neighboring rows have more similar residuals than chance explains.

    The mean cosine of neighbors is compared with that after random permutations. `data` are those
    `rows` of the factorized matrix; of equal rows, which judge together anyway, the first counts.
    """
    some = np.sort(np.unique(equal_rows(data), return_index=True)[1])
    most = min(SETTINGS.neighbors, SETTINGS.entries // data.shape[1])
    some = some[: max(2, most)]
    if len(some) < 2:
        return ""
    left = as_dense(data[some]) - result.weights[rows[some]] @ result.components
    left = unit_rows(left - left.mean(axis=0))
    gram, order = left @ left.T, np.arange(len(left))
    rng = np.random.default_rng(0)

    def alike(order: NDArray[np.intp]) -> float:
        return float(gram[order[:-1], order[1:]].mean())

    similar = alike(order)
    chance = max(alike(rng.permutation(order)) for _ in range(SETTINGS.permutations))
    if similar <= max(chance, SETTINGS.alike):
        return ""
    return f"Neighboring {row}s have similar residuals (correlation {similar:.2f})"
