"""The explanation that anchors give of the data, measured with rounding on the safe side.

With C the chosen rows, every row is a point of what the model allows plus noise,

    x_i = y_i + v_i,   y_i in   conv(C)          "hull"        FastAnchor, MERIT
                                conv(C and 0)    "hull and 0"  SPA
                                cone(C)          "cone"        XRAY, FastGradient

and ‖v_i‖ is measured, rounded up. Anchors have v = 0. With `scale_rows` all of this is about the
rows divided by their sums. Lengths are those of the data divided by `fit.unit`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import RowArray
from provenmf.blocks.rows import by_row
from provenmf.guarantees.fit import Fit
from provenmf.linalg.distances import Model
from provenmf.linalg.hull import product_rounding
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.records import Certificate, Check
from provenmf.storage import as_dense

Floats = NDArray[np.float64]

# Where the squared residual of a sparse row is expanded, it is at least 1e-6 of the squared
# lengths in it (smaller ones are measured entry by entry), so that its root loses three digits.
EXPANDED = 1e3
ARE_ROWS = "components are rows of the data"


class Explanation:
    """Anchors, and how far every row is at most from what they explain.

    anchors : their row numbers; components : the rows themselves, divided where `scaled`.
    distances, lengths : of all rows; weights : (n, k) of the points y, left where the rows are.
    factors : one over the sums of the rows where `scaled`, zero where a sum is not positive.
    """

    def __init__(self, fit: Fit, model: Model, *, scale_rows: bool = False) -> None:
        assert fit.factorization.anchors is not None  # methods that choose rows always name them
        self.fit, self.model, self.scaled = fit, model, scale_rows
        self.anchors = fit.factorization.anchors
        self.components = as_dense(fit.blocks.take(self.anchors)).astype(np.float64)
        self.factors = inverse_where_positive(fit.sums) if scale_rows else None
        self.lengths = fit.lengths if self.factors is None else fit.lengths * self.factors
        if self.factors is not None:
            self.components = self.components * self.factors[self.anchors, None]
        found, self.weights = self._nearest()
        self.distances = found * (1 + product_rounding(self.components.shape[1])) + self._slack()
        self.distances[self.anchors] = 0.0
        if self.factors is not None:
            self.distances[self.factors == 0] = 0.0

    def _nearest(self) -> tuple[Floats, RowArray]:
        """Distances and weights: those that the fit knows, if its components are these rows.

        A component may have taken over the size of its weights there.
        """
        known = self.fit.components_over_sums if self.scaled else self.fit.components
        if np.allclose(known, self.components, rtol=1e-12, atol=0.0):
            return self.fit.nearest(self.model, scale_rows=self.scaled)
        return self.fit.nearest_to(self.components, self.model, scale_rows=self.scaled)

    def _slack(self) -> Floats:
        """Rounding errors of the measured distances, and how far weights are off the simplex."""
        k, d = self.components.shape
        corners = np.linalg.norm(self.components, axis=1)
        reach = self.lengths + by_row(lambda weights: weights @ corners, self.weights)
        terms = product_rounding(k) + product_rounding(d) * (2 if self.scaled else 1)
        slack = terms * (EXPANDED if self.fit.blocks.is_sparse else 1.0) * reach
        if self.model != "cone":
            excess = by_row(lambda weights: weights.sum(axis=1), self.weights) - 1
            off = np.abs(excess) if self.model == "hull" else np.maximum(excess, 0.0)
            slack += off * corners.max()
        return np.asarray(slack)

    @property
    def scale(self) -> float:
        """Length of the longest row; one for data of zeros."""
        return float(self.lengths.max()) or 1.0

    @property
    def largest(self) -> float:
        """Largest distance of a row."""
        return float(self.distances.max())

    @property
    def typical(self) -> float:
        """Median distance of a row."""
        return float(np.median(self.distances))

    @property
    def largest_share(self) -> float | None:
        """Largest distance of a row as a share of that row's own length.

        None if a row of zeros is not explained: no share says how badly.
        """
        zero = self.lengths == 0
        if (self.distances[zero] > 0).any():
            return None
        return float((self.distances[~zero] / self.lengths[~zero]).max(initial=0.0))

    @property
    def unit(self) -> float:
        """By what a length is multiplied before it is reported."""
        return 1.0 if self.scaled else self.fit.unit

    @property
    def of_rows(self) -> str:
        """Which rows a note speaks of, if not the rows as they are."""
        return "; all rows divided by their sums" if self.scaled else ""


def other_components(fit: Fit) -> Certificate | None:
    """The certificate of components that are not the rows of the data that the anchors name."""
    anchors = fit.factorization.anchors
    n = fit.given.n_rows
    note = ""
    if anchors is None or anchors.shape != (fit.n_components,) or anchors.dtype.kind not in "iu":
        note = "the result does not name one row for each component"
    elif anchors.size and (anchors.min() < 0 or anchors.max() >= n):
        note = f"the data have {n} rows, but rows up to {anchors.max()} are named as anchors"
    elif not vertices_asked_for(fit):
        different = moved_components(fit)
        if different.any():
            k = int(np.flatnonzero(different)[0])
            note = f"component {k} is not row {anchors[k]}"
    if not note:
        return None
    note += ": nothing about anchors can be said; give the data that the result was made from"
    words = "The components are not the rows of these data that the result calls anchors."
    check = Check(ARE_ROWS, "definition", "fails", note=note, in_words=words)
    return Certificate(fit.method, checks=(check,))


def vertices_asked_for(fit: Fit) -> bool:
    """Whether the components were to be means of rows around the anchors."""
    return bool(fit.factorization.parameters.get("vertices"))


def moved_components(fit: Fit) -> NDArray[np.bool_]:
    """Which components (k,) are not the rows that the anchors name."""
    assert fit.factorization.anchors is not None  # asked for valid anchors only
    rows = as_dense(fit.given.take(fit.factorization.anchors))
    return np.asarray((rows != fit.factorization.components).any(axis=1))


def vertices_are_no_rows(fit: Fit) -> tuple[Check, ...]:
    """What must be said first where theorems speak of anchors and the components are others."""
    if not vertices_asked_for(fit) or not moved_components(fit).any():
        return ()
    note = (
        "components are vertices, means of rows around the anchors; all that is said of anchors is "
        "about rows of the data, not about the components"
    )
    words = (
        "The components are means of rows around the anchors; what is said of chosen rows is about "
        "the anchors alone."
    )
    return (Check(ARE_ROWS, "definition", "fails", note=note, in_words=words),)
