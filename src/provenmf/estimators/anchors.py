"""What estimators share that choose rows as anchors and may average the rows around them."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from provenmf.blocks import Blocks
from provenmf.errors import InvalidInput
from provenmf.estimators.base import Factorizer
from provenmf.records import Solution
from provenmf.solvers.separable.vertices import at_vertices


class AnchorFactorizer(Factorizer):
    """Base of methods whose components are anchors, or with `vertices` means of rows around them.

    A subclass gives `_anchors_of` in place of `_solve`, and says in which sense rows are mixtures.

    Parameters
    ----------
    vertices, row_errors
        As in every estimator.
    """

    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "vertices": ["boolean"],
        "row_errors": ["array-like", None],
    }

    vertices: bool
    row_errors: ArrayLike | None

    @property
    def _looks_at_scaled_rows(self) -> bool:
        """Whether the anchors are sought among rows divided by their sums."""
        return bool(getattr(self, "scale_rows", False))

    @property
    def _sums_below_one(self) -> bool:
        """Whether the weights of a row may sum to less than one."""
        return False

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        """Find the anchors."""
        raise NotImplementedError  # every method has its own

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        if self.row_errors is not None and not self.vertices:
            raise InvalidInput(
                "says how vertices are averaged, but no vertices are asked for",
                argument="row_errors",
                remedy="set vertices=True, or leave it out",
            )
        solution = self._anchors_of(blocks, rng)
        if not self.vertices:
            return solution
        averaged, n_members = at_vertices(
            blocks,
            solution,
            self.row_errors,
            scale_rows=self._looks_at_scaled_rows,
            with_origin=self._sums_below_one,
        )
        listed = ", ".join(str(max(1, number)) for number in n_members.tolist())
        note = f"The components are vertices: means of {listed} rows around the anchors"
        return replace(averaged, notes=(*solution.notes, note))
