"""Pages of topics and communities, and where points are drawn."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from provenmf.report.communities import spring_positions
from provenmf.report.elements import Cards, Table
from provenmf.report.figures import Lines, Tree
from provenmf.report.matrix import found
from provenmf.report.topics import by_group, flat_positions, merged, topic_map


def test_maps_and_tree_have_the_words_of_the_cards(results):
    answer = results["topics"]
    shown, documents, tree = topic_map(answer)
    cards = next(e for e in found(answer) if isinstance(e, Cards)).cards
    own = next(card for card in cards if card.component == 3)
    labels, lengths = zip(*[(bar.label, bar.length) for bar in own.bars])
    assert sorted(labels) == sorted(answer.top_words(12)[2]) == sorted(shown.figure.words[2])
    assert list(lengths) == sorted(lengths, reverse=True)  # the longest bar first
    assert [card.component - 1 for card in cards] == np.argsort(-answer.share).tolist()
    assert documents.figure.groups.tolist() == answer.document_weights.argmax(axis=1).tolist()
    far = documents.figure.positions - answer.document_weights @ documents.figure.corners
    assert np.abs(far).max() < 0.2 * np.ptp(documents.figure.corners)
    assert len(tree.figure.joins) == 3 and sorted(tree.figure.order()) == [0, 1, 2, 3]
    values = [value for path in tree.figure.branches() for value, _ in path]
    assert min(values) == 0.0 and tree.figure.joins[-1][2] == max(values)


def test_a_tree_is_joined_at_the_middle_of_its_branches():
    tree = Tree(["a", "b", "c"], [(0, 2, 1.0), (1, 3, 2.0)], "loss")
    assert tree.order() == [1, 0, 2]
    assert tree.branches() == [
        [(0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)],
        [(0.0, 0.0), (2.0, 0.0), (2.0, 1.5), (1.0, 1.5)],
    ]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"{1900 + i}" for i in range(40)], Lines),
        ([f"19{10 + i % 20}-05" for i in range(40)], Lines),
        (["Anna", "Bob", "Carl", "9"] * 10, Table),
    ],
)
def test_groups_are_curves_or_a_table(results, values, kind):
    answer = results["topics"].grouped(values, "group")
    (chart,) = by_group(answer)
    if kind is Table:
        assert [row[:2] for row in chart.rows] == [[name, "10"] for name in sorted(set(values))]
    else:
        assert isinstance(chart.figure, kind)
        _, x, y = chart.figure.series[0]
        assert list(x) == sorted(x) and len(x) == len(y)


def test_one_group_has_no_chart(results):
    assert by_group(results["topics"].grouped(["same"] * 40)) == []
    assert by_group(replace(results["topics"], document_groups=None)) == []


def test_many_dates_become_months_or_years():
    days = [f"2020-{m:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)]
    assert set(merged(np.array(days))) == {f"2020-{m:02}" for m in range(1, 13)}
    assert len(set(merged(np.array([str(i) for i in range(1000)])))) == 30


def test_points_of_a_plane_keep_their_distances():
    points = np.random.default_rng(0).normal(size=(7, 2))
    distances = cdist(points, points)
    found = flat_positions(distances)
    np.testing.assert_allclose(cdist(found, found), distances, atol=1e-10)


def test_springs_part_two_groups_that_one_edge_joins():
    group = np.array([[i, j] for i in range(8) for j in range(i)])
    edges = np.vstack([group, group + 8, [[0, 8]]])
    start = np.random.default_rng(1).normal(size=(16, 2))
    places = spring_positions(start, edges)
    again = spring_positions(start, edges)
    np.testing.assert_array_equal(places, again)
    within = cdist(places[:8], places[:8]).mean() + cdist(places[8:], places[8:]).mean()
    assert cdist(places[:8], places[8:]).mean() > within
