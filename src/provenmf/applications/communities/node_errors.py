"""Standard errors of memberships, by the delta method.

A node's point x = v / p·v mixes the corners C with weights b = x C⁻¹, and its memberships are
θ_m = b_m ℓ_m / Σ b ℓ with the corners' lengths ℓ_j = √(c_j Λ c_jᵀ). To first order, with s = Σ b ℓ,

    dθ = J db + Σ_j b_j (e_j − θ) dℓ_j / s,    J = (diag ℓ − θ ℓᵀ) / s,
    db = (dx − b dC) C⁻¹,                      dℓ_j = dc_j · (c_j Λ) / ℓ_j.

The error of x comes from the node's own links (`link_covariances`), that of a corner from the nodes
it is the mean of; both are taken as independent. A network is seen once, so that there are no
nodes to draw anew: a node drawn twice would be its own neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm

from provenmf.applications.communities.node_vertices import corner_lengths, point_covariances
from provenmf.results.error_bars import CONFIDENCE, ErrorBars

Floats = NDArray[np.float64]

BLOCK = 20_000  # nodes at a time
ASSUMES = (
    "links are independent with the probabilities of the mixed-membership model, communities are "
    "equally dense inside, and the corners found are off by chance alone"
)


@dataclass(frozen=True, eq=False)
class NodeModel:
    """What memberships rest on: eigenpairs, the plane, the corners and their covariances."""

    adjacency: sp.csr_array
    vectors: Floats
    eigenvalues: Floats
    plane: Floats
    corners: Floats
    corner_covariances: Floats


def membership_error_bars(
    model: NodeModel, memberships: Floats, undetermined: NDArray[np.bool_]
) -> ErrorBars:
    """Standard errors and intervals of all memberships; undetermined nodes may be anything."""
    errors = np.full_like(memberships, np.inf)
    known = np.flatnonzero(~undetermined)
    for start in range(0, len(known), BLOCK):
        nodes = known[start : start + BLOCK]
        errors[nodes] = np.sqrt(_variances(model, memberships[nodes], nodes))
    quantile = float(norm.ppf((1 + CONFIDENCE) / 2))
    lower = np.clip(memberships - quantile * errors, 0.0, 1.0)
    upper = np.clip(memberships + quantile * errors, 0.0, 1.0)
    return ErrorBars(errors, lower, upper, "weights", ASSUMES)


def _variances(model: NodeModel, memberships: Floats, nodes: NDArray[np.intp]) -> Floats:
    """Squared standard errors (nodes, k)."""
    corners = model.corners
    if np.linalg.matrix_rank(corners) < len(corners):  # nothing is known of the memberships
        return np.full(memberships.shape, np.inf)
    inverse = np.linalg.inv(corners)
    lengths = corner_lengths(corners, model.eigenvalues)
    mixture = memberships / lengths
    mixture /= mixture.sum(axis=1, keepdims=True)
    sums = mixture @ lengths
    slope = np.eye(len(corners)) * lengths - memberships[:, :, None] * lengths
    slope /= sums[:, None, None]
    of_points = slope @ inverse.T  # dθ = of_points dx
    own = point_covariances(model.adjacency, model.vectors, model.eigenvalues, nodes, model.plane)
    variances = np.einsum("nma,nab,nmb->nm", of_points, own, of_points)
    for j, covariance in enumerate(model.corner_covariances):
        along = corners[j] * model.eigenvalues / lengths[j]
        stretch = np.eye(len(corners))[j] - memberships
        of_corner = (stretch / sums[:, None])[:, :, None] * along - of_points
        of_corner *= mixture[:, j, None, None]
        variances += np.einsum("nma,ab,nmb->nm", of_corner, covariance, of_corner)
    return np.asarray(np.maximum(variances, 0.0))
