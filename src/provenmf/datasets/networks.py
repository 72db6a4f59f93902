"""Networks with planted, overlapping communities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class PlantedNetwork:
    """Adjacency (n, n), symmetric 0/1 without loops, and the memberships (n, k) behind it."""

    adjacency: sp.csr_array
    memberships: NDArray[np.float64]
    pure_nodes: NDArray[np.intp]


def mixed_membership_network(
    n_nodes: int = 400,
    n_communities: int = 3,
    *,
    pure_share: float = 0.4,
    concentration: float = 0.5,
    inside: float = 0.25,
    outside: float = 0.01,
    random_state: int | np.random.Generator | None = None,
) -> PlantedNetwork:
    """Mixed-membership blocks: P(edge i–j) = membershipᵢ B membershipⱼᵀ.

    B has `inside` on the diagonal and `outside` elsewhere. A share of the nodes belongs to one
    community only, in turn; the memberships of the others are Dirichlet(concentration).
    """
    if not 0 <= outside <= inside <= 1:
        raise InvalidInput(
            f"inside={inside}, outside={outside}: 0 <= outside <= inside <= 1 needed"
        )
    if n_nodes < n_communities:
        raise InvalidInput(f"n_nodes={n_nodes} must be at least n_communities={n_communities}")
    rng = np.random.default_rng(random_state)
    n_pure = max(n_communities, round(pure_share * n_nodes))
    memberships = rng.dirichlet(np.full(n_communities, concentration), size=n_nodes)
    pure = np.sort(rng.choice(n_nodes, size=n_pure, replace=False))
    memberships[pure] = np.eye(n_communities)[np.arange(n_pure) % n_communities]
    blocks = np.full((n_communities, n_communities), outside)
    np.fill_diagonal(blocks, inside)
    chance = np.clip(memberships @ blocks @ memberships.T, 0.0, 1.0)
    edges: Any = np.triu(rng.random((n_nodes, n_nodes)) < chance, k=1)
    adjacency = sp.csr_array((edges | edges.T).astype(np.float64))
    return PlantedNetwork(adjacency, memberships, pure)
