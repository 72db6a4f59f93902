import numpy as np
import pytest

from provenmf.datasets.networks import (
    large_mixed_membership_network,
    mixed_membership_network,
)
from provenmf.errors import InvalidInput


def test_adjacency_is_a_simple_graph():
    network = mixed_membership_network(100, 3, random_state=0)
    dense = network.adjacency.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert np.trace(dense) == 0
    assert set(np.unique(dense)) == {0.0, 1.0}


def test_memberships_sum_to_one_and_pure_nodes_are_pure():
    network = mixed_membership_network(90, 3, pure_share=0.3, random_state=1)
    np.testing.assert_allclose(network.memberships.sum(axis=1), 1)
    assert len(network.pure_nodes) == 27
    assert (network.memberships[network.pure_nodes].max(axis=1) == 1).all()


def test_edges_follow_the_model():
    """The edges among pure nodes of one community are as frequent as `inside` says."""
    network = mixed_membership_network(
        600, 2, pure_share=1.0, inside=0.3, outside=0.05, random_state=2
    )
    labels = network.memberships.argmax(axis=1)
    dense = network.adjacency.toarray()
    inside = dense[np.ix_(labels == 0, labels == 0)]
    across = dense[np.ix_(labels == 0, labels == 1)]
    n = inside.shape[0]
    assert inside.sum() / (n * (n - 1)) == pytest.approx(0.3, abs=0.01)
    assert across.mean() == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("options", [{"inside": 0.1, "outside": 0.2}, {"inside": 1.5}])
def test_impossible_chances_are_refused(options):
    with pytest.raises(InvalidInput, match="inside="):
        mixed_membership_network(50, 2, **options)


def test_a_large_network_has_the_degrees_and_the_contrast_asked_for():
    network = large_mixed_membership_network(
        4000, 3, mean_degree=40.0, contrast=30.0, pure_share=1.0, random_state=0
    )
    adjacency = network.adjacency
    assert (adjacency != adjacency.T).nnz == 0
    assert adjacency.diagonal().sum() == 0
    assert set(np.unique(adjacency.data)) == {1.0}
    assert adjacency.sum() / 4000 == pytest.approx(40.0, rel=0.05)
    labels = network.memberships.argmax(axis=1)
    between = np.array(
        [[adjacency[labels == a][:, labels == b].sum() for b in range(3)] for a in range(3)]
    )
    inside, outside = np.diag(between).mean(), between[~np.eye(3, dtype=bool)].mean()
    assert inside / outside == pytest.approx(30.0, rel=0.15)
