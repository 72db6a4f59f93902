"""What theory says about anchors found by SPA, FastAnchor, XRAY and FastGradient.

Every statement is about the explanation that was returned: with C the chosen rows, each row of the
data is its nearest point among those that the model allows plus noise,

    x_i = y_i + v_i,   y_i in   conv(C)          "hull"        FastAnchor
                                conv(C and 0)    "hull and 0"  SPA
                                cone(C)          "cone"        XRAY, FastGradient

and ε = max ‖v_i‖ is measured. Anchors have v = 0. If a theorem's condition holds for this
explanation, the method provably finds it, up to the theorem's error, from any data within ε of its
noiseless rows; whether nature made the data that way no computation can tell. Margins
(guarantees/margins.py) need no such condition: they speak of every explanation with that noise.

    GV14     Gillis & Vavasis 2014, Theorem 3: SPA, with f the squared Euclidean length
    Arora13  Arora et al. 2013, Theorem 4.3: FastAnchorWords
    Kumar13  Kumar, Sindhwani & Kambadur 2013: XRAY, for data without noise
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.guarantees.fit import Fit
from provenmf.guarantees.margins import anchor_margins, check_margins
from provenmf.linalg.distances import Model
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.orthogonal import orthogonal_part, orthonormal_rows
from provenmf.records import Certificate, Check, Measure

# Residuals up to this fraction of the largest row are rounding.
EXACT = 1e-7
# Margins keep some corners for each anchor as dense rows and read the data once per pass.
MARGIN_COLUMNS = 5000
MARGIN_PASSES = 50


def certify_spa(fit: Fit, *, scale_rows: bool = False) -> Certificate:
    """GV14's condition ε < σ_k min(1/(2√(k−1)), 1/4) / (1 + 80 ‖C‖²/σ_k²) on the explanation."""
    points = Explanation(fit, "hull and 0", scale_rows)
    allowed = spa_noise_allowed(points.components)
    check = Check(
        "noise within SPA's tolerance",
        "GV14, Theorem 3",
        "holds" if points.largest < allowed else "fails",
        value=points.largest,
        threshold=allowed,
        note="noise: largest distance of a row to the hull of the anchors and zero",
    )
    return points.certificate(_full_rank(points.components), check)


def certify_fast_anchor(fit: Fit, *, scale_rows: bool = False) -> Certificate:
    """Arora13's condition 20 k ε < γ³ on the explanation, rows scaled into the unit ball."""
    points = Explanation(fit, "hull", scale_rows)
    gamma = robustness(points.components) / points.scale
    allowed = gamma**3 / (20 * len(points.components)) * points.scale
    check = Check(
        "noise within its tolerance",
        "Arora13, Thm 4.3",
        "holds" if points.largest < allowed else "fails",
        value=points.largest,
        threshold=allowed,
        note="noise: largest distance of a row to the hull of the anchors",
    )
    return points.certificate(check, robustness=gamma)


def certify_cone(fit: Fit) -> Certificate:
    """Whether the cone of the anchors contains all rows: then XRAY's theorem applies.

    Margins are those of the rows divided by their sums, which turns the cone into a hull.
    """
    cone = Explanation(fit, "cone", False)
    check = Check(
        "rows inside the anchors' cone",
        "Kumar13",
        "holds" if cone.largest <= EXACT * cone.scale else "fails",
        value=cone.largest / cone.scale,
        threshold=EXACT,
        note="the theory of conical hulls speaks of data without noise only",
    )
    hull = Explanation(fit, "hull", True)
    return cone.certificate(check, margins=hull)


class Explanation:
    """The chosen rows, and how far every row is from what they explain."""

    def __init__(self, fit: Fit, model: Model, scale_rows: bool) -> None:
        self.method, self.blocks, self.model = fit.method, fit.blocks, model
        self.sums = fit.sums if scale_rows else None
        self.components = fit.components_over_sums if scale_rows else fit.components
        self.distances = fit.distances(model, scale_rows=scale_rows)
        lengths = fit.lengths
        if scale_rows:
            lengths = np.where(fit.sums > 0, lengths / np.where(fit.sums > 0, fit.sums, 1.0), 0.0)
        self.scale = float(lengths.max()) or 1.0
        self.largest = float(self.distances.max())

    def margins(self) -> tuple[Check, dict[str, Measure], dict[str, float]]:
        """What the distance of each anchor to the other rows proves: check, measures, bounds."""
        if self.blocks.n_columns > MARGIN_COLUMNS or (
            self.sums is not None and self.sums.min() < 0
        ):
            note = (
                f"not measured beyond {MARGIN_COLUMNS} columns, and for rows divided by their sums "
                "not with negative sums: project the data first"
            )
            return Check("anchors survive the residual", "margin", "unknown", note=note), {}, {}
        lower, upper = anchor_margins(
            self.blocks,
            self.components,
            radius=float(np.median(self.distances)) / 10,
            scale=self.scale,
            divisors=self.sums,
            with_origin=self.model == "hull and 0",
            max_iter=MARGIN_PASSES,
        )
        survived = float(lower.min()) / 2
        return (
            check_margins(self.largest, lower, upper),
            {"anchor_margin": tuple(lower.tolist())},
            {"noise_that_all_anchors_survive": survived} if 0 < survived < math.inf else {},
        )

    def certificate(
        self, *checks: Check, margins: Explanation | None = None, **measures: float
    ) -> Certificate:
        """The checks, the margins, and the measures of separability."""
        margin, margin_measures, bounds = (margins or self).margins()
        return Certificate(
            self.method,
            checks=(margin, *checks),
            bounds=bounds,
            measures={
                "separability_residual": self.largest / self.scale,
                "typical_separability_residual": float(np.median(self.distances)) / self.scale,
                "smallest_singular_value": smallest_singular_value(self.components),
                **measures,
                **margin_measures,
            },
        )


def spa_noise_allowed(components: NDArray[np.float64]) -> float:
    """GV14, Theorem 3: noise per row below which SPA finds these components."""
    sigma = smallest_singular_value(components)
    if sigma == 0:
        return 0.0
    k = len(components)
    longest = math.sqrt(squared_row_norms(components).max())
    share = min(0.25, 1 / (2 * math.sqrt(k - 1)) if k > 1 else 0.25)
    return sigma * share / (1 + 80 * longest**2 / sigma**2)


def robustness(components: NDArray[np.float64]) -> float:
    """Arora13's γ: least distance of a component to the affine hull of all the others."""
    distances = []
    for row in range(len(components)):
        others = np.delete(components, row, axis=0)
        if len(others) == 0:
            return float(np.linalg.norm(components[0]))
        basis = orthonormal_rows(others[1:] - others[0])
        distances.append(np.linalg.norm(orthogonal_part(components[row] - others[0], basis)))
    return float(min(distances))


def smallest_singular_value(components: NDArray[np.float64]) -> float:
    """σ_k of k components; zero if there are more of them than columns."""
    if components.shape[0] > components.shape[1]:
        return 0.0
    return float(np.linalg.svd(components, compute_uv=False)[-1])


def _full_rank(components: NDArray[np.float64]) -> Check:
    """GV14's assumption on the components."""
    values = np.linalg.svd(components, compute_uv=False)
    ratio = smallest_singular_value(components) / (values[0] or 1.0)
    needed = max(components.shape) * np.finfo(np.float64).eps
    return Check(
        "components linearly independent",
        "GV14, Assumption 1",
        "holds" if ratio > needed else "fails",
        value=ratio,
        threshold=needed,
        note="smallest singular value of the components divided by the largest",
        direction=">=",
    )
