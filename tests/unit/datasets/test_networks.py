import numpy as np
import pytest

from provenmf.datasets.networks import mixed_membership_network
from provenmf.errors import InvalidInput


def test_a_network_is_simple_with_the_degrees_and_the_contrast_asked_for():
    network = mixed_membership_network(
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


def test_memberships_sum_to_one_and_pure_nodes_are_pure():
    network = mixed_membership_network(90, 3, pure_share=0.3, random_state=1)
    np.testing.assert_allclose(network.memberships.sum(axis=1), 1)
    assert len(network.pure_nodes) == 27
    assert (network.memberships[network.pure_nodes].max(axis=1) == 1).all()
    with pytest.raises(InvalidInput, match="mean_degree=90"):
        mixed_membership_network(90, 3, mean_degree=90)
