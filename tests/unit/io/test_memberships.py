"""Known memberships are compared with the right nodes, or refused."""

import numpy as np
import pytest

from provenmf.errors import InvalidInput
from provenmf.io import read_graph
from provenmf.io.graphs import read_memberships

TRUTH = np.arange(8.0).reshape(4, 2)


def test_numbers_of_an_edge_list_are_in_their_order(tmp_path):
    (tmp_path / "e.txt").write_text("10 2\n2 1\n0 10\n")
    graph = read_graph(tmp_path / "e.txt")
    assert graph.names.tolist() == ["0", "1", "2", "10"]
    assert np.argwhere(np.triu(graph.adjacency.toarray())).tolist() == [[0, 3], [1, 2], [2, 3]]


def test_other_names_stay_as_they_appear(tmp_path):
    (tmp_path / "e.txt").write_text("b a\na 2\n")
    assert read_graph(tmp_path / "e.txt").names.tolist() == ["b", "a", "2"]


def test_rows_are_matched_by_name(tmp_path):
    lines = [f"{name},{a},{b}" for name, (a, b) in zip("dcba", TRUTH)]
    (tmp_path / "t.csv").write_text("node,x,y\n" + "\n".join(lines) + "\n")
    found = read_memberships(tmp_path / "t.csv", ["a", "c", "b"])
    np.testing.assert_array_equal(found, TRUTH[[3, 1, 2]])
    with pytest.raises(InvalidInput, match="no row for node 'e'"):
        read_memberships(tmp_path / "t.csv", ["a", "e"])


def test_names_may_be_numbers(tmp_path):
    """They were taken for memberships, and rows of another order compared with the wrong nodes."""
    lines = [f"{name},{a},{b}" for name, (a, b) in zip([12, 2, 7, 1], TRUTH)]
    (tmp_path / "t.csv").write_text("node,x,y\n" + "\n".join(lines) + "\n")
    found = read_memberships(tmp_path / "t.csv", ["1", "2", "7", "12"])
    np.testing.assert_array_equal(found, TRUTH[[3, 1, 2, 0]])


@pytest.mark.parametrize(
    ("nodes", "rows"),
    [(["3", "0"], [3, 0]), (["1", "4"], [0, 3]), (list("0123"), range(4))],
)
def test_rows_without_names_count_the_nodes(tmp_path, nodes, rows):
    np.save(tmp_path / "t.npy", TRUTH)
    found = read_memberships(tmp_path / "t.npy", nodes)
    np.testing.assert_array_equal(found, TRUTH[list(rows)])


@pytest.mark.parametrize("nodes", [["a", "b", "c", "d"], ["0", "1"], ["2", "9"], ["0", "4"]])
def test_what_cannot_be_matched_is_refused(tmp_path, nodes):
    np.save(tmp_path / "t.npy", TRUTH / 8)
    with pytest.raises(InvalidInput, match="rows without names"):
        read_memberships(tmp_path / "t.npy", nodes)
