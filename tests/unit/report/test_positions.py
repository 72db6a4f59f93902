import numpy as np
from scipy.spatial.distance import cdist

from provenmf.report.communities import spring_positions
from provenmf.report.topics import flat_positions


def test_points_of_a_plane_keep_their_distances():
    points = np.random.default_rng(0).normal(size=(7, 2))
    distances = cdist(points, points)
    found = flat_positions(distances)
    np.testing.assert_allclose(cdist(found, found), distances, atol=1e-10)


def test_one_point_and_equal_points_have_a_place():
    assert flat_positions(np.zeros((1, 1))).shape == (1, 2)
    np.testing.assert_allclose(flat_positions(np.zeros((3, 3))), 0, atol=1e-12)


def test_springs_part_two_groups_that_one_edge_joins():
    group = np.array([[i, j] for i in range(8) for j in range(i)])
    edges = np.vstack([group, group + 8, [[0, 8]]])
    start = np.random.default_rng(1).normal(size=(16, 2))
    places = spring_positions(start, edges)
    again = spring_positions(start, edges)
    np.testing.assert_array_equal(places, again)
    within = cdist(places[:8], places[:8]).mean() + cdist(places[8:], places[8:]).mean()
    assert cdist(places[:8], places[8:]).mean() > within
