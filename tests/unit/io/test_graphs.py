import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io import read_graph
from provenmf.io.graphs import as_graph

TRIANGLE_AND_TAIL = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=float)


@pytest.mark.parametrize("ending", ["npz", "mtx", "txt", "graphml", "gml", "net"])
def test_every_format_gives_the_same_graph(tmp_path, ending):
    graph = nx.relabel_nodes(nx.from_numpy_array(TRIANGLE_AND_TAIL != 0), dict(enumerate("abcd")))
    path = tmp_path / f"g.{ending}"
    {
        "npz": lambda: sp.save_npz(path, sp.csr_array(TRIANGLE_AND_TAIL)),
        "mtx": lambda: scipy.io.mmwrite(path, sp.coo_array(TRIANGLE_AND_TAIL)),
        "txt": lambda: path.write_text("# edges\na b\na,c\nb\tc\nc d\n"),
        "graphml": lambda: nx.write_graphml(graph, path),
        "gml": lambda: nx.write_gml(graph, path),
        "net": lambda: nx.write_pajek(graph, path),
    }[ending]()
    for found in (read_graph(path), as_graph(graph)):
        np.testing.assert_array_equal(found.adjacency.toarray(), TRIANGLE_AND_TAIL)
        assert found.notes == ()
    names = list("0123" if ending in ("npz", "mtx") else "abcd")
    assert read_graph(path).names.tolist() == names


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
    mutual = nx.DiGraph([(0, 1), (1, 0)])
    assert "directed edges were made mutual" in as_graph(mutual).notes[0]


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


def test_networks_without_labels_damaged_and_empty(tmp_path):
    path = tmp_path / "g.gml"
    nodes = "".join(f"node [ id {i} ] " for i in range(3))
    path.write_text(f"graph [ {nodes} edge [ source 0 target 2 ] edge [ source 1 target 2 ] ]")
    assert read_graph(path).adjacency.nnz == 4
    path.write_text("graph [ node [ id 0 ")
    (tmp_path / "g.graphml").write_text("<graphml><oops")
    for name in ("g.gml", "g.graphml"):
        with pytest.raises(UnreadableFile, match=rf"{name} is not a readable"):
            read_graph(tmp_path / name)
    nx.write_graphml(nx.Graph(), tmp_path / "empty.graphml")
    with pytest.raises(InvalidInput, match="no nodes"):
        read_graph(tmp_path / "empty.graphml")


def test_edge_lists_order_numbers_and_keep_the_largest_weight(tmp_path):
    path = tmp_path / "e.txt"
    path.write_text("10 2\n2 1\n0 10\n")
    graph = read_graph(path)
    assert graph.names.tolist() == ["0", "1", "2", "10"]
    assert np.argwhere(np.triu(graph.adjacency.toarray())).tolist() == [[0, 3], [1, 2], [2, 3]]
    path.write_text("b a 1\na b 4\nb a 2\na 2 1\n")
    graph = read_graph(path)
    assert graph.names.tolist() == ["b", "a", "2"]  # other names stay as they appear
    assert graph.adjacency.toarray()[0].tolist() == [0, 4, 0]
    assert any("2 lines repeat an edge" in note for note in graph.notes)
