"""What theory says about anchors found by SPA, FastAnchor, XRAY and FastGradient.

Every statement is about the explanation that was returned: with C the chosen rows, each row of the
data is its nearest point among those that the model allows plus noise,

    x_i = y_i + v_i,   y_i in   conv(C)          "hull"        FastAnchor
                                conv(C and 0)    "hull and 0"  SPA
                                cone(C)          "cone"        XRAY, FastGradient

and ε = max ‖v_i‖ is measured. Anchors have v = 0. If a theorem's condition holds for this
explanation, the method provably finds it, up to the theorem's error, from any data within ε of its
noiseless rows; whether nature made the data that way no computation can tell.

    GV14     Gillis & Vavasis 2014, Theorem 3: SPA, with f the squared Euclidean length
    Arora13  Arora et al. 2013, Theorem 4.3: FastAnchorWords
    Kumar13  Kumar, Sindhwani & Kambadur 2013: XRAY, for data without noise
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares
from provenmf.linalg.norms import squared_residual_rows, squared_row_norms
from provenmf.linalg.orthogonal import orthogonal_part, orthonormal_rows
from provenmf.records import Certificate, Check, Factorization

Model = Literal["hull", "hull and 0", "cone"]

# Residuals up to this fraction of the largest row are rounding.
EXACT = 1e-7


def certify_spa(
    blocks: Blocks, factorization: Factorization, *, scale_rows: bool = False
) -> Certificate:
    """GV14's condition ε < σ_k min(1/(2√(k−1)), 1/4) / (1 + 80 ‖C‖²/σ_k²) on the explanation."""
    points = Explanation(blocks, factorization, "hull and 0", scale_rows)
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


def certify_fast_anchor(
    blocks: Blocks, factorization: Factorization, *, scale_rows: bool = False
) -> Certificate:
    """Arora13's condition 20 k ε < γ³ on the explanation, rows scaled into the unit ball."""
    points = Explanation(blocks, factorization, "hull", scale_rows)
    gamma = robustness(points.components) / points.scale
    allowed = gamma**3 / (20 * len(points.components)) * points.scale
    check = Check(
        "noise within FastAnchor's tolerance",
        "Arora13, Thm 4.3",
        "holds" if points.largest < allowed else "fails",
        value=points.largest,
        threshold=allowed,
        note="noise: largest distance of a row to the hull of the anchors",
    )
    return points.certificate(check, robustness=gamma)


def certify_cone(blocks: Blocks, factorization: Factorization) -> Certificate:
    """Whether the cone of the anchors contains all rows: then XRAY's theorem applies."""
    points = Explanation(blocks, factorization, "cone", False)
    exact = points.largest <= EXACT * points.scale
    check = Check(
        "rows inside the cone of the anchors",
        "Kumar13",
        "holds" if exact else "fails",
        value=points.largest / points.scale,
        threshold=EXACT,
        note="the theory of conical hulls speaks of data without noise only",
    )
    return points.certificate(check)


class Explanation:
    """The chosen rows, and how far every row is from what they explain."""

    def __init__(
        self, blocks: Blocks, factorization: Factorization, model: Model, scale_rows: bool
    ) -> None:
        self.method = factorization.method
        self.components = factorization.components.astype(np.float64)
        if scale_rows:
            sums = self.components.sum(axis=1, keepdims=True)
            self.components = self.components / np.where(sums > 0, sums, 1.0)
        squared, lengths = squared_distances(blocks, self.components, model, scale_rows).T
        self.distances = np.sqrt(squared)
        self.scale = math.sqrt(lengths.max()) or 1.0
        self.largest = float(self.distances.max())

    def certificate(self, *checks: Check, **measures: float) -> Certificate:
        """The checks, and the measures of separability that go with all of them."""
        return Certificate(
            self.method,
            checks=checks,
            measures={
                "separability_residual": self.largest / self.scale,
                "typical_separability_residual": float(np.median(self.distances)) / self.scale,
                "smallest_singular_value": smallest_singular_value(self.components),
                **measures,
            },
        )


def squared_distances(
    blocks: Blocks, components: NDArray[np.float64], model: Model, scale_rows: bool = False
) -> NDArray[np.float64]:
    """(n, 2): squared distance of each row to the model's set, and its squared length.

    With `scale_rows` both are those of the row divided by its sum (of zero for a zero row).
    """
    corners = components if model != "hull and 0" else np.vstack([components, 0 * components[:1]])
    gram = corners @ corners.T
    solve = nonnegative_least_squares if model == "cone" else simplex_least_squares
    ones = np.ones(blocks.n_columns)

    def measure(block: Block) -> NDArray[Any]:
        sums = np.asarray(block @ ones, dtype=np.float64) if scale_rows else np.ones(block.shape[0])
        empty = sums <= 0
        sums = np.where(empty, 1.0, sums)
        weights = solve(gram, np.asarray(block @ corners.T, dtype=np.float64) / sums[:, None])
        squared = squared_residual_rows(block, sums[:, None] * weights, corners) / sums**2
        lengths = squared_row_norms(block) / sums**2
        return np.column_stack([np.where(empty & scale_rows, 0.0, squared), lengths])

    return blocks.map_rows(measure)


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
    )
