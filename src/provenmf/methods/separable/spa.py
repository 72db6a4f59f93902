"""Successive projection (SPA): take the longest row, project it out of all rows, repeat.

Araujo et al. 2001; analysed by Gillis & Vavasis, "Fast and robust recursive algorithms for
separable nonnegative matrix factorization", 2014 (GV14), whose Algorithm 1 with f = squared
Euclidean length this is.

    GV14                            here
    M = WH + N, points in columns   data ≈ weights @ components, points in rows
    r                               n_components
    J                               anchors
    W = M(:, J)                     components = data[anchors]
    R, the projected matrix         never formed: only the squared length of each of its rows

One pass per anchor, or a few for all of them where passes take long (`farthest.py`). Besides the
data the memory is O(n + k d), and sparse data stay sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks
from provenmf.linalg.nnls import Constraint
from provenmf.linalg.norms import orthogonal_part
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable import guarantee
from provenmf.methods.separable.anchors import (
    AnchorFactorizer,
    anchor_solution,
    number_to_try,
    row_scales,
)
from provenmf.methods.separable.farthest import FarthestRows
from provenmf.methods.traits import CONSTRAINT, Traits
from provenmf.results import Certificate, Solution, StopReason


@dataclass(eq=False, repr=False)
class SPA(AnchorFactorizer):
    """Successive projection (Gillis & Vavasis 2014): take the longest row, project it out, repeat.

    Model: a few rows of the data are anchors, and every row is a mixture of them, with nonnegative
    weights that sum to at most one. Data may be negative; the anchors are then still found, and the
    factors are those of a simplex-structured factorization rather than of NMF.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual (see the state's `drop`).
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one. For nonnegative data whose weights
        can be of any size, such as counts.
    constraint : {"nonnegative", "simplex"}, default="nonnegative"
        Constraint on the weights.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, in order of choice.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    XRAY : for weights of any size.
    FastAnchor : farthest from the affine span instead of the linear one.
    MERIT : all anchors at once, more robust against noise.

    References
    ----------
    Gillis, N. and Vavasis, S. A., "Fast and robust recursive algorithms for separable nonnegative
    matrix factorization", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014.

    Examples
    --------
    The last two rows mix the first two.

    >>> import numpy as np
    >>> from provenmf import SPA
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> SPA(n_components=2).fit(X).anchors_.tolist()
    [0, 1]
    """

    _method = "spa"
    traits = Traits(negative_data=True, finds_number=True, anchors=True, random="never", advised=1)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "scale_rows": ["boolean"],
        "constraint": [CONSTRAINT],
    }

    scale_rows: bool = False
    constraint: Constraint = "nonnegative"

    @property
    def _sums_below_one(self) -> bool:
        return self.constraint == "nonnegative" and not self.scale_rows

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return spa(
            blocks,
            self._number_wanted(blocks.n_rows),
            scale_rows=self.scale_rows,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_spa(fit, scale_rows=self.scale_rows)


def spa(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    scale_rows: bool = False,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find anchors by successive projection; see `SPA` for the parameters.

    The trace has, for each anchor tried, the `residual` length with which it was chosen.
    """
    number = number_to_try(blocks, n_components, blocks.n_columns)
    run = Run(number, callback=callback, verbose=verbose, name="SPA")
    farthest = FarthestRows(blocks, number, factors=row_scales if scale_rows else None)
    basis = np.empty((0, blocks.n_columns))
    anchors: list[int] = []
    chosen_with: list[float] = []
    if run.saved is not None:
        basis = run.saved["basis"]
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
    run.keeps(lambda: {"basis": basis, "anchors": anchors, "chosen_with": chosen_with})
    chosen = farthest.after(anchors, basis)
    for _ in run:
        if chosen.squared == 0:
            run.stop(StopReason.ALL_EXPLAINED)
            continue
        direction = orthogonal_part(chosen.point, basis)
        chosen_with.append(float(np.linalg.norm(direction)))
        run.record(residual=chosen_with[-1])
        basis = np.vstack([basis, direction / chosen_with[-1]])
        anchors.append(chosen.row)
        chosen = farthest.after(anchors, basis)

    left = 0.0
    if chosen.squared > 0:
        left = float(np.linalg.norm(orthogonal_part(chosen.point, basis)))
    if len(anchors) == min(blocks.shape):
        # The anchors span the whole space, so that nothing is left for any data: that is no drop.
        # A tenth of the last value stands in, and only a larger drop before it decides.
        left = chosen_with[-1] / 10
    return anchor_solution(blocks, anchors, [*chosen_with, left], n_components, run)
