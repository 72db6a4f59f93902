"""Preparing data in steps that are undone on the factors afterwards.

    ready = prepare(X).without_zero_rows().with_unit_row_sums().projected(20)
    fit = SPA(10).fit(ready.data).factorization_
    weights, components, anchors = ready.undo(fit.weights, fit.components, fit.anchors)

The last line gives factors of the original rows: X ≈ weights @ components with one row of weights
for each row of X, and anchors that count rows of X.

    step                 data become                undone on the factors
    without_zero_rows    the rows with an entry     zero weights put back, anchors renumbered
    with_unit_row_sums   D⁻¹ X                      weights ← D weights
    projected(k)         X V, V leading right       components ← components Vᵀ
                         singular vectors
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Blocks, as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.cooccurrence import Cooccurrence
from provenmf.linalg.norms import row_sums, squared_row_norms
from provenmf.linalg.spectral import (
    GRAM_COLUMNS,
    gram_of_columns,
    leading_eigenpairs,
    with_fixed_signs,
)


class Factors(NamedTuple):
    """Weights (n, k), components (k, d), and anchors where there are any."""

    weights: NDArray[np.floating]
    components: NDArray[np.floating]
    anchors: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data after some steps, and how to undo them."""

    data: Any
    undoing: tuple[Callable[[Factors], Factors], ...] = ()

    def undo(
        self,
        weights: NDArray[np.floating],
        components: NDArray[np.floating],
        anchors: NDArray[np.intp] | None = None,
    ) -> Factors:
        """Factors of the data as they were, from factors of the data as they are now."""
        factors = Factors(weights, components, anchors)
        for step in reversed(self.undoing):
            factors = step(factors)
        return factors

    def without_zero_rows(self) -> Prepared:
        """Leave out the rows that are entirely zero."""
        blocks = as_blocks(self.data)
        kept = np.flatnonzero(blocks.map_rows(squared_row_norms) > 0)
        if len(kept) == blocks.n_rows:
            return self
        if len(kept) == 0:
            raise InvalidInput("X has zero rows only: there is nothing to factorize")
        return self._followed_by(blocks.take(kept), lambda f: _put_back(f, kept, blocks.n_rows))

    def with_unit_row_sums(self) -> Prepared:
        """Divide each row by its sum; every row must have a positive one."""
        blocks = as_blocks(self.data)
        sums = blocks.map_rows(row_sums)
        if not (sums > 0).all():
            raise InvalidInput(
                f"X has {np.count_nonzero(sums <= 0)} rows whose sum is not positive: "
                "leave out zero rows first, and scale nonnegative data only"
            )
        return self._followed_by(
            blocks.map_rows(lambda block, s: block / s[:, None], sums)
            if not blocks.is_sparse
            else sp.csr_array(sp.diags_array(1 / sums) @ blocks.everything()),
            lambda f: f._replace(weights=sums[:, None] * f.weights),
        )

    def projected(self, k: int) -> Prepared:
        """Coordinates on the k leading right singular vectors: PCA without centring.

        The vectors come from XᵀX or, with many columns, from products with it; X is read once
        or once per Lanczos step.
        """
        blocks = as_blocks(self.data)
        directions = with_fixed_signs(_leading_directions(blocks, k))
        coordinates = blocks.map_rows(lambda block: np.asarray(block @ directions.T))
        return self._followed_by(
            coordinates, lambda f: f._replace(components=f.components @ directions)
        )

    def _followed_by(self, data: object, undo: Callable[[Factors], Factors]) -> Prepared:
        return replace(self, data=data, undoing=(*self.undoing, undo))


def prepare(data: object) -> Prepared:
    """Data to which no step has been applied yet."""
    return Prepared(data)


def prepare_cooccurrence(counts: object, k: int) -> Prepared:
    """Words as points: rows of P = FᵀF/n scaled to sum one, on k leading directions.

    The same as ``prepare(P).without_zero_rows().with_unit_row_sums().projected(k)``, but P is
    never formed. F = `counts` (n_documents, n_words), sparse; see `linalg.cooccurrence`.
    """
    cooccurrence = Cooccurrence(counts)
    sums = cooccurrence.row_sums()
    kept = np.flatnonzero(sums > 0)
    if len(kept) == 0:
        raise InvalidInput("counts are all zero: there is nothing to factorize")
    coordinates, directions = cooccurrence.scaled_projection(k)
    return Prepared(
        coordinates[kept],
        (
            lambda f: _put_back(f, kept, len(sums)),
            lambda f: f._replace(weights=sums[kept, None] * f.weights),
            lambda f: f._replace(components=f.components @ directions),
        ),
    )


def _put_back(factors: Factors, kept: NDArray[np.intp], n_rows: int) -> Factors:
    """Zero weights for the rows that were left out, anchors counted among all rows."""
    weights = np.zeros((n_rows, factors.weights.shape[1]), dtype=factors.weights.dtype)
    weights[kept] = factors.weights
    anchors = None if factors.anchors is None else kept[factors.anchors]
    return factors._replace(weights=weights, anchors=anchors)


def _leading_directions(blocks: Blocks, k: int) -> NDArray[np.float64]:
    """k leading right singular vectors as rows (fewer if there are not so many)."""
    if blocks.n_columns <= GRAM_COLUMNS:
        gram = blocks.map_reduce(gram_of_columns)
        return leading_eigenpairs(gram, blocks.n_columns, k).vectors
    return leading_eigenpairs(
        lambda v: blocks.map_reduce(lambda block: block.T @ (block @ v)), blocks.n_columns, k
    ).vectors
