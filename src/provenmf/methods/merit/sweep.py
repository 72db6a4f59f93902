"""One sweep of pairwise steps over all rows, in two parts.

With the largest entry of each column of C as its cap, the objective is that of the fit plus lam
times the sum of the caps. Rows have nothing to do with each other but the caps, and few change one:

1. Rows that hold a cap, and for each column the row that gains most from raising its cap, make
   their steps in turn, each with a line search against what the others hold. There are no more of
   them than twice the dictionary.
2. All rows make steps that stay below the caps. The penalty does not rise, whatever the others do:
   blocks, threads and workers do this side by side.

No step raises the objective, and how the rows are split has no influence on any of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.methods.merit.columns import Columns, Penalties, Wishes
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.spread import SpreadMixture


def sweep(
    mixture: Mixture | SpreadMixture,
    penalties: Penalties,
    wishes: Wishes,
    tolerance: float,
    steps: int,
) -> None:
    """At most `steps` pairwise steps in every row, as long as they gain more than `tolerance`."""
    rows = rows_in_turn(penalties.columns, wishes, tolerance)
    few = mixture.part(rows)
    caps = few.take_turns(rows, penalties, tolerance, steps)
    pairs = few.pairs()

    def improve(some: Mixture) -> None:
        some.put(rows, pairs)
        some.fill(caps, tolerance, steps)

    mixture.change(improve)


def rows_in_turn(columns: Columns, wishes: Wishes, tolerance: float) -> NDArray[np.int64]:
    """Rows that hold the largest entry of a column, or would most like to, in ascending order."""
    holders = columns.holder[columns.holder >= 0]
    return np.unique(np.concatenate([holders, wishes.row[wishes.gain > tolerance]]))
