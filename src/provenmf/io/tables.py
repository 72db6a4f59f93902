"""A matrix together with the names of its rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with the names of its rows and columns, where the file has them."""

    matrix: Any
    row_names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None

    @property
    def transposed(self) -> Table:
        """Rows for columns."""
        return Table(self.matrix.T, self.column_names, self.row_names)

    @property
    def names(self) -> dict[str, NDArray[np.str_]]:
        """The names that there are, by the fields of a Factorization that keep them."""
        named = {"row_names": self.row_names, "column_names": self.column_names}
        return {what: np.array(list(names), np.str_) for what, names in named.items() if names}
