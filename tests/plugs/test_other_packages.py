"""Results in the hands of other packages; `make plugs` installs these and runs the tests."""

import numpy as np
import pytest

import provenmf
from provenmf.errors import InvalidInput

HOW = "not installed; `make plugs` installs it"


def test_hyperspy_decomposes_with_our_estimators():
    hyperspy = pytest.importorskip("hyperspy.api", reason=HOW)
    rng = np.random.default_rng(0)
    cube = rng.dirichlet([0.3] * 3, (12, 10)) @ rng.random((3, 60))
    signal = hyperspy.signals.Signal1D(cube)
    signal.decomposition(algorithm=provenmf.HALS(3, random_state=0), output_dimension=3)
    assert signal.get_decomposition_loadings().data.shape == (3, 12, 10)
    np.testing.assert_allclose(signal.get_decomposition_model().data, cube, atol=0.01)


def test_cdlib_takes_memberships():
    cdlib = pytest.importorskip("cdlib", reason=HOW)
    networkx = pytest.importorskip("networkx", reason=HOW)
    graph = networkx.karate_club_graph()
    found = provenmf.find_communities(graph, 2)
    clusters = found.to_cdlib(graph)
    assert isinstance(clusters, cdlib.FuzzyNodeClustering)
    assert sorted(node for members in clusters.communities for node in members) == list(graph)
    assert clusters.allocation_matrix[0][0] == pytest.approx(found.memberships[0, 0])
    assert clusters.newman_girvan_modularity().score > 0.3
    with pytest.raises(InvalidInput, match="other nodes"):
        found.to_cdlib(networkx.path_graph(5))


def test_bertopic_describes_our_topics():
    bertopic = pytest.importorskip("bertopic", reason=HOW)
    from bertopic.backend import BaseEmbedder
    from bertopic.cluster import BaseCluster
    from bertopic.dimensionality import BaseDimensionalityReduction

    rng = np.random.default_rng(0)
    words = ["cat dog mouse bird fish", "stock bond bank market price", "goal match team coach win"]
    texts = [" ".join(rng.choice(words[i % 3].split(), 8)) for i in range(90)]
    topics = provenmf.find_topics(texts, 3)
    model = bertopic.BERTopic(
        embedding_model=BaseEmbedder(),
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=BaseCluster(),
    )
    weights = topics.document_weights
    model.fit(texts, embeddings=weights, y=weights.argmax(axis=1))
    found = {frozenset(word for word, _ in model.get_topic(j)[:5]) for j in range(3)}
    assert found == {frozenset(line.split()) for line in words}


def test_polars_and_xarray_take_tables():
    polars = pytest.importorskip("polars", reason=HOW)
    pytest.importorskip("xarray", reason=HOW)
    rng = np.random.default_rng(0)
    result = provenmf.factorize(rng.random((20, 6)), 2, method="spa")
    answer = provenmf.results.as_answer(result)
    frame = polars.from_pandas(answer.table())
    assert frame.columns == list(answer.component_names)
    np.testing.assert_array_equal(answer.to_xarray()["weights"].values, result.weights)
