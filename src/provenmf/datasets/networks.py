"""Networks with planted, overlapping communities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import generator
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
    mean_degree: float = 40.0,
    contrast: float = 20.0,
    degree_spread: float = 0.0,
    pure_share: float = 0.4,
    concentration: float = 0.5,
    random_state: int | np.random.Generator | None = None,
) -> PlantedNetwork:
    """Draw mixed-membership blocks edge by edge, in memory proportional to the edges.

    The number of links between i and j is Poisson with mean δᵢ δⱼ membershipᵢ B membershipⱼᵀ, and
    an edge stands where there is at least one link. B has `contrast` on the diagonal and 1
    elsewhere, scaled so that the mean degree is as asked for up to merged links. The degree
    factors δ are lognormal with standard deviation `degree_spread` of their logarithm. A share of
    the nodes belongs to one community only, in turn; the memberships of the others are
    Dirichlet(concentration).
    """
    if mean_degree <= 0 or mean_degree >= n_nodes:
        raise InvalidInput(
            f"mean_degree={mean_degree} must be positive and less than the {n_nodes} nodes"
        )
    rng = generator(random_state)
    memberships, pure = _memberships(n_nodes, n_communities, pure_share, concentration, rng)
    factors = np.exp(degree_spread * rng.standard_normal(n_nodes))
    loads = memberships * factors[:, None]
    blocks = np.ones((n_communities, n_communities))
    np.fill_diagonal(blocks, contrast)
    sizes = loads.sum(axis=0)
    expected = blocks * np.multiply.outer(sizes, sizes)
    links = rng.poisson(n_nodes * mean_degree / 2 * expected / expected.sum())
    ends = [_endpoints(loads, links.sum(axis=axis), rng) for axis in (1, 0)]
    # Links of community a to b stand in the order of the pairs (a, b) on both sides.
    order = np.argsort(np.repeat(np.tile(np.arange(n_communities), n_communities), links.ravel()))
    from_node, to_node = ends[0], np.empty_like(ends[1])
    to_node[order] = ends[1]
    different = from_node != to_node
    adjacency = sp.csr_array(
        (np.ones(different.sum()), (from_node[different], to_node[different])),
        shape=(n_nodes, n_nodes),
    )
    adjacency = sp.csr_array(adjacency + adjacency.T)
    adjacency.data[:] = 1.0
    return PlantedNetwork(adjacency, memberships, pure)


def _endpoints(
    loads: NDArray[np.float64], counts: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the given number of nodes for each community, in proportion to their loads."""
    drawn = []
    for community, count in enumerate(counts):
        cumulative = np.cumsum(loads[:, community])
        places = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
        drawn.append(np.minimum(places, len(loads) - 1))
    return np.concatenate(drawn)


def _memberships(
    n_nodes: int,
    n_communities: int,
    pure_share: float,
    concentration: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw Dirichlet memberships with a share of pure nodes; return both."""
    if n_nodes < n_communities:
        raise InvalidInput(f"n_nodes={n_nodes} must be at least n_communities={n_communities}")
    n_pure = max(n_communities, round(pure_share * n_nodes))
    memberships = rng.dirichlet(np.full(n_communities, concentration), size=n_nodes)
    pure = np.sort(rng.choice(n_nodes, size=n_pure, replace=False))
    memberships[pure] = np.eye(n_communities)[np.arange(n_pure) % n_communities]
    return memberships, pure
