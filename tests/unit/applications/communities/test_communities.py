import networkx as nx
import numpy as np
import pytest

from provenmf.applications import find_communities
from provenmf.applications.communities.embedding import embed
from provenmf.applications.communities.search import Members, from_neighbors, memberships_of
from provenmf.datasets.networks import mixed_membership_network
from provenmf.errors import InvalidInput
from provenmf.io.graphs import as_graph
from provenmf.metrics.matching import averaged_spearman


def mixed_membership_graph(rng, n=400, k=3):
    """A network of the mixed-membership model with pure nodes, and its truth."""
    truth = rng.dirichlet(0.3 * np.ones(k), n)
    truth[: 10 * k] = np.repeat(np.eye(k), 10, axis=0)
    between = 0.05 + 0.75 * np.eye(k)
    chance = truth @ between @ truth.T
    upper = np.triu(rng.random((n, n)) < chance, 1)
    return (upper | upper.T).astype(float), truth


@pytest.fixture(scope="module")
def network():
    return mixed_membership_graph(np.random.default_rng(0))


@pytest.mark.parametrize("scale", [True, False])
def test_memberships_are_found(network, scale):
    adjacency, truth = network
    result = find_communities(adjacency, 3, scale=scale, evidence=False)
    assert averaged_spearman(result.memberships, truth) > 0.85
    np.testing.assert_allclose(result.memberships.sum(axis=1), 1)
    assert result.memberships.min() >= 0
    assert sorted(truth[result.pure_nodes].argmax(axis=1)) == [0, 1, 2]


def test_exact_model_gives_exact_memberships(network):
    _, truth = network
    expected = truth @ (0.05 + 0.75 * np.eye(3)) @ truth.T
    embedding = embed(as_graph(expected).adjacency, 3)
    values, vectors = np.linalg.eigh(expected)
    found, unknown = memberships_of(vectors[:, -3:], np.array([0, 10, 20]))
    np.testing.assert_allclose(found, truth, atol=1e-8)
    assert not unknown.any() and embedding.vectors.shape == (400, 3)


def test_disconnected_graphs_are_said():
    adjacency = np.zeros((12, 12))
    adjacency[:5, :5] = adjacency[5:9, 5:9] = adjacency[9:, 9:] = 1
    result = find_communities(adjacency, 2, method="spa")
    assert "the graph is not connected: it has 3 separate pieces" in result.notes
    assert any("3 nodes are not reached" in note for note in result.notes)
    np.testing.assert_allclose(result.memberships[:5, 0], result.memberships[0, 0], atol=1e-12)
    assert np.flatnonzero(result.undetermined).tolist() == [9, 10, 11]
    np.testing.assert_allclose(result.memberships[9], result.memberships[:9].mean(axis=0))


def test_ties_at_the_energy_cut_are_kept():
    star_pair = nx.disjoint_union(nx.star_graph(4), nx.star_graph(3))
    embedding = embed(as_graph(star_pair).adjacency, 2, energy=0.6)
    assert embedding.kept.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("pattern", [np.eye(2), [[0, 1], [1, 0]]])
def test_ties_in_the_spectrum_are_said(pattern):
    """The eigenvalue after the communities' is sought by itself, where a copy is easily missed."""
    embedding = embed(as_graph(np.kron(pattern, np.ones((150, 150)))).adjacency, 1)
    assert any("eigenvalues 1 and 2 have the same size" in note for note in embedding.notes)
    np.testing.assert_allclose(np.abs(embedding.eigenvalues), embedding.eigenvalues[0])
    five = np.eye(5) + 0.1 * nx.to_numpy_array(nx.cycle_graph(5))
    ring = embed(as_graph(np.kron(five, np.ones((60, 60)))).adjacency, 2)
    assert any("eigenvalues 2 and 3 have the same size" in note for note in ring.notes)
    three = nx.disjoint_union_all([nx.complete_graph(4)] * 3)
    notes = find_communities(three, 2, method="spa").notes
    assert any("eigenvalues 2 and 3 have the same size" in note for note in notes)
    halves = as_graph(np.kron([[0, 1], [1, 0]], np.ones((150, 150)))).adjacency
    np.testing.assert_allclose(embed(halves, 2).eigenvalues, [150, -150, 0], atol=1e-9)


def test_the_embedding_of_a_large_graph_is_that_of_all_its_eigenvectors():
    graph = mixed_membership_network(400, 3, mean_degree=40.0, random_state=0)
    embedding = embed(graph.adjacency, 3)
    values, vectors = np.linalg.eigh(graph.adjacency.toarray())
    leading = np.argsort(-np.abs(values))[:4]
    np.testing.assert_allclose(embedding.eigenvalues[:3], values[leading[:3]])
    assert embedding.eigenvalues[3] == pytest.approx(values[leading[3]], rel=1e-3)
    np.testing.assert_allclose(
        np.abs(embedding.vectors), np.abs(vectors[:, leading[:3]]), atol=1e-9
    )


def test_more_communities_than_the_spectrum_supports():
    star = nx.star_graph(5)
    with pytest.raises(InvalidInput, match="2 nonzero eigenvalues: choose n_communities <= 2"):
        find_communities(star, 4, method="spa")
    with pytest.raises(InvalidInput, match="n_communities=6 must be"):
        find_communities(star, 6, method="spa")
    with pytest.raises(InvalidInput, match="method='hals' does not find pure nodes"):
        find_communities(star, 2, method="hals")


def test_unknown_memberships_come_from_neighbors_as_far_as_links_reach():
    path = as_graph(nx.disjoint_union(nx.path_graph(4), nx.path_graph(2))).adjacency
    known = np.array([[0.8, 0.2], [0, 0], [0, 0], [0.4, 0.6], [0.5, 0.5], [0.5, 0.5]])
    unknown = np.array([False, True, True, False, True, True])
    found = from_neighbors(path, Members(known, unknown))
    np.testing.assert_allclose(found.memberships[1:3], [[0.8, 0.2], [0.4, 0.6]])
    assert found.undetermined.tolist() == [False] * 4 + [True] * 2


def test_who_hardly_belongs_to_a_community_is_no_member_of_it():
    links = np.kron(np.eye(2), np.ones((5, 5))) + np.pad(np.ones((1, 1)), ((4, 5), (5, 4)))
    found = find_communities(np.maximum(links, links.T), 2, evidence=False)
    shares = found.memberships.T
    for members, own in zip(found.largest_members(10), shares, strict=True):
        assert len(members) and np.all(own[members] >= 0.05)
        assert np.all(np.delete(own, members) < 0.05)
