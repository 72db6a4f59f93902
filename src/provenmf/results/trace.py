"""What happened in each iteration of a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from provenmf.results.shapes import Shape, agree


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in each iteration: equally long columns by name.

    Parameters
    ----------
    columns : mapping, default={}
        Arrays with one entry for each iteration.

    Examples
    --------
    >>> from provenmf import Trace
    >>> trace = Trace.from_rows([{"error": 0.5}, {"error": 0.25}])
    >>> len(trace), trace["error"].tolist()
    (2, [0.5, 0.25])
    """

    columns: Mapping[str, Annotated[NDArray[Any], Shape("iterations")]] = field(
        default_factory=dict
    )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and agree(self.columns, other.columns)

    @classmethod
    def from_rows(cls, rows: list[dict[str, float]]) -> Trace:
        """Turn one dict per iteration into columns; a value missing in a row becomes NaN."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: np.array([row.get(name, math.nan) for row in rows]) for name in names})
