"""Corners averaged over nodes: closer to the truth than single nodes, on graphs of the model."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.applications import find_communities
from provenmf.applications.communities.embedding import embed
from provenmf.applications.communities.likelihood import number_of_communities
from provenmf.applications.communities.search import memberships_of
from provenmf.datasets.networks import mixed_membership_network
from provenmf.metrics.matching import best_assignment


def membership_error(found, true):
    """Mean L1 distance of the nodes' memberships, communities matched."""
    distance = np.abs(found[:, :, None] - true[:, None, :]).sum(axis=0)
    rows, columns = best_assignment(-distance)
    return np.abs(found[:, rows] - true[:, columns]).sum(axis=1).mean()


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_averaged_corners_are_closer_to_the_truth_than_single_nodes(spread):
    network = mixed_membership_network(
        1500, 4, mean_degree=80.0, degree_spread=spread, random_state=0
    )
    averaged = find_communities(network.adjacency, 4, certify=False, evidence=False, refine=False)
    assert averaged.n_averaged.min() > 20
    vectors = embed(network.adjacency, 4).vectors
    single = memberships_of(vectors, averaged.pure_nodes)[0]
    errors = [membership_error(m, network.memberships) for m in (averaged.memberships, single)]
    assert errors[0] < 0.75 * errors[1]


def test_a_random_graph_has_one_community():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((400, 400)) < 0.05, 1)
    assert number_of_communities(sp.csr_array((upper | upper.T).astype(float)))[0] == 1


def test_dense_regions_alone_are_not_averaged():
    """Two cliques in a sparse ring: the eigenvectors see only them."""
    n = 600
    ring = sp.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n)).tolil()
    ring[:20, :20] = 1
    ring[300:320, 300:320] = 1
    graph = sp.csr_array(((ring + ring.T) > 0).astype(float))
    result = find_communities(graph, 2, certify=False, evidence=False)
    assert result.n_averaged is None
    assert any("pure node alone" in note for note in result.notes)


TWO = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("number", [1, None])
@pytest.mark.parametrize("graph", [TWO, np.eye(7, k=1) + np.eye(7, k=-1)], ids=["pair", "path"])
def test_bipartite_graphs_have_one_community_of_all_nodes(graph, number):
    found = find_communities(graph, number)
    assert found.memberships.shape[1] == 1
    assert not found.undetermined.any()
