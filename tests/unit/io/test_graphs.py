import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io import as_graph, read_graph

TRIANGLE_AND_TAIL = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=float)


def test_every_format_gives_the_same_graph(tmp_path):
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(TRIANGLE_AND_TAIL))
    scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_array(TRIANGLE_AND_TAIL))
    (tmp_path / "g.txt").write_text("# edges\na b\na,c\nb\tc\nc d\n")
    nx.write_graphml(nx.from_numpy_array(TRIANGLE_AND_TAIL != 0), tmp_path / "g.graphml")
    for name in ("g.npz", "g.mtx", "g.txt", "g.graphml"):
        graph = read_graph(tmp_path / name)
        np.testing.assert_array_equal(graph.adjacency.toarray(), TRIANGLE_AND_TAIL)
        assert graph.notes == ()
    assert read_graph(tmp_path / "g.txt").names.tolist() == ["a", "b", "c", "d"]
    graph = as_graph(nx.from_numpy_array(TRIANGLE_AND_TAIL != 0))
    np.testing.assert_array_equal(graph.adjacency.toarray(), TRIANGLE_AND_TAIL)


def test_loops_directions_and_weights_are_handled_and_said():
    adjacency = np.array([[2.0, 3.0, 0], [0, 0, 1], [0, 5, 0]])
    graph = as_graph(adjacency)
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 3, 0], [3, 0, 5], [0, 5, 0]])
    assert graph.notes == (
        "1 self-loop dropped",
        "directed edges were made mutual, the larger weight kept",
        "edge weights from 3 to 5 are used as given",
    )
    assert adjacency[0, 0] == 2.0


def test_directed_networkx_graph_is_said():
    mutual = nx.DiGraph([(0, 1), (1, 0)])
    assert "directed edges were made mutual" in as_graph(mutual).notes[0]


def test_repeated_edges_keep_the_largest_weight(tmp_path):
    (tmp_path / "g.txt").write_text("a b 1\nb a 4\na b 2\nb c 1\n")
    graph = read_graph(tmp_path / "g.txt")
    assert graph.adjacency.toarray()[0].tolist() == [0, 4, 0]
    assert any("2 lines repeat an edge" in note for note in graph.notes)


@pytest.mark.parametrize(
    "adjacency, message",
    [
        (np.zeros((3, 3)), "3 nodes and 0 edges"),
        (np.ones((1, 1)), "1 node and 0 edges"),
        (np.ones((2, 3)), "square adjacency"),
        (np.array([[0, -1.0], [-1, 0]]), "negative weights"),
        (np.array([[0, np.nan], [np.nan, 0]]), "not finite"),
    ],
)
def test_graphs_without_communities(adjacency, message):
    with pytest.raises(InvalidInput, match=message):
        as_graph(adjacency)


@pytest.mark.parametrize(
    "text, message",
    [
        ("# nothing\n", "has no edges"),
        ("a b\na b c d\n", "line 2 has 4 entries"),
        ("a b heavy\n", "line 1 has the weight 'heavy'"),
    ],
)
def test_bad_edge_lists(tmp_path, text, message):
    (tmp_path / "g.txt").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_graph(tmp_path / "g.txt")


def test_bad_graphml(tmp_path):
    (tmp_path / "g.graphml").write_text("<graphml><oops")
    with pytest.raises(UnreadableFile, match=r"not a readable \.graphml"):
        read_graph(tmp_path / "g.graphml")
    nx.write_graphml(nx.Graph(), tmp_path / "empty.graphml")
    with pytest.raises(InvalidInput, match="no nodes"):
        read_graph(tmp_path / "empty.graphml")


@pytest.mark.parametrize("ending", ["gml", "net", "graphml"])
def test_formats_of_networkx(ending, tmp_path):
    networkx = pytest.importorskip("networkx", reason="networkx writes graphs")
    graph = networkx.relabel_nodes(networkx.path_graph(4), str)
    path = tmp_path / f"g.{ending}"
    {"gml": networkx.write_gml, "net": networkx.write_pajek, "graphml": networkx.write_graphml}[
        ending
    ](graph, path)
    found = read_graph(path)
    assert sorted(found.names) == list("0123") and found.adjacency.nnz == 6


def test_gml_without_labels_and_damaged(tmp_path):
    pytest.importorskip("networkx", reason="networkx reads GML")
    path = tmp_path / "g.gml"
    nodes = "".join(f"node [ id {i} ] " for i in range(3))
    path.write_text(f"graph [ {nodes} edge [ source 0 target 2 ] edge [ source 1 target 2 ] ]")
    assert read_graph(path).adjacency.nnz == 4
    path.write_text("graph [ node [ id 0 ")
    with pytest.raises(InvalidInput, match=r"g\.gml is not a readable"):
        read_graph(path)


def test_numbers_of_an_edge_list_are_in_their_order(tmp_path):
    (tmp_path / "e.txt").write_text("10 2\n2 1\n0 10\n")
    graph = read_graph(tmp_path / "e.txt")
    assert graph.names.tolist() == ["0", "1", "2", "10"]
    assert np.argwhere(np.triu(graph.adjacency.toarray())).tolist() == [[0, 3], [1, 2], [2, 3]]


def test_other_names_stay_as_they_appear(tmp_path):
    (tmp_path / "e.txt").write_text("b a\na 2\n")
    assert read_graph(tmp_path / "e.txt").names.tolist() == ["b", "a", "2"]
