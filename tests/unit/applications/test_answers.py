"""What answers of all kinds do alike: the matrix behind them, new data, tables, repr."""

import sys
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from provenmf import load
from provenmf.applications import count_words, find_communities, find_parts, find_topics, unmix
from provenmf.cli.analysis import as_dict
from provenmf.errors import InvalidInput, MissingExtra
from provenmf.io import Corpus
from provenmf.io.images import as_cube
from provenmf.methods import make_estimator, methods
from provenmf.methods.certify import certify
from provenmf.report import render
from provenmf.results import Answer, Factorization, as_answer
from provenmf.results.answers import ANSWERS, Words
from provenmf.results.estimates import ErrorBars
from provenmf.results.factorization import Origin
from provenmf.results.states import Shape


def fits(answer, matrix):
    """The anchors of the answer are rows of the matrix."""
    rows = matrix[answer.factorization.anchors]
    dense = rows.toarray() if sp.issparse(rows) else rows
    np.testing.assert_allclose(dense, answer.factorization.components, atol=1e-9)
    assert len(answer.factorization.weights) == matrix.shape[0]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    words = np.array([f"{a}{b}x" for a in "abcd" for b in "efghij"])
    return [
        " ".join(rng.choice(words[6 * (n % 4) :][:8], 20)) + " rare" * (n == 0) for n in range(80)
    ]


@pytest.fixture(scope="module")
def scene():
    rng = np.random.default_rng(0)
    return (rng.dirichlet(np.ones(3), 200) @ rng.uniform(0.1, 1, (3, 8))).reshape(10, 20, 8)


def test_numbers_follow_size(texts, scene):
    blocks = np.kron(np.diag([0.5, 0.9, 0.7]), np.ones((30, 30)))
    drawn = np.triu(np.random.default_rng(0).random(blocks.shape) < blocks, 1).astype(float)
    uneven = np.delete(drawn + drawn.T, np.r_[:15, 30:40], axis=0)
    uneven = np.delete(uneven, np.r_[:15, 30:40], axis=1)
    for answer in (
        find_topics(texts, 4, evidence=False),
        find_communities(uneven, 3, evidence=False),
        unmix(scene, 3, evidence=False),
        find_parts(load_digits().images[:200], 5, evidence=False, random_state=0),
    ):
        assert np.diff(answer.share).max() <= 1e-12


def test_topics_from_texts_and_from_counts(texts):
    corpus = Corpus(texts, [str(n) for n in range(80)])
    counts = count_words(corpus, min_documents=1)
    result = find_topics(counts, 4, method="spa")
    for data in (corpus, texts, counts):
        fits(result, result.matrix_of(data))
    with pytest.raises(InvalidInput, match="are not in the data"):
        result.matrix_of(np.ones((3, 2)))


@pytest.mark.parametrize("method", [*methods(anchors=True), "and_descent"])
def test_topics_by_every_method_can_be_certified_again(method):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), 3)
    mixtures = rng.dirichlet(np.full(3, 0.3), 80)
    counts = sp.csr_array(np.array([rng.multinomial(60, row) for row in mixtures @ topics]))
    result = find_topics(counts, 3, method=method, random_state=0)
    again = certify(counts, result)
    assert again.measures.keys() >= result.certificate.measures.keys()  # a fit leaves out the dear
    for name, value in result.certificate.measures.items():  # a residual is a root of rounding
        np.testing.assert_allclose(again.measures[name], value, rtol=1e-6, atol=3e-8, err_msg=name)


def test_communities():
    rng = np.random.default_rng(0)
    adjacency = np.kron(np.eye(2), np.ones((30, 30))) * 0.7 + 0.1
    adjacency = np.triu(rng.random((60, 60)) < adjacency, 1).astype(float)
    result = find_communities(adjacency + adjacency.T, 2, method="spa", evidence=False)
    fits(result, result.matrix_of(adjacency + adjacency.T))
    with pytest.raises(InvalidInput, match="no transform.*find_communities"):
        result.transform(adjacency)


@pytest.mark.parametrize("group", [True, False])
def test_unmixing(scene, group):
    result = unmix(scene, 3, method="spa", group=group)
    fits(result, result.matrix_of(scene))
    fits(result, result.matrix_of(scene.reshape(200, 8).T))


def test_parts_and_plain_matrices():
    images = load_digits().images[:50]
    result = find_parts(images, 3, method="spa")
    fits(result, result.matrix_of(images))
    plain = as_answer(Factorization("spa", np.eye(3), np.eye(3)))
    assert plain.matrix_of(images) is images
    with pytest.raises(InvalidInput, match="no transform"):
        plain.transform(images)


@pytest.mark.parametrize("method", ["spa", "hals"])
def test_weights_of_the_same_documents_are_the_same(texts, method):
    counts = count_words(texts, min_documents=1)
    result = find_topics(counts, 4, method=method, random_state=0)
    for data in (texts, counts, counts.matrix):
        np.testing.assert_allclose(result.transform(data), result.document_weights, atol=1e-9)
    np.testing.assert_allclose(result.transform(texts[:1]), result.document_weights[:1], atol=1e-9)
    unknown = result.transform(["nothing of this was seen before", texts[0]])
    assert unknown[0].tolist() == [0, 0, 0, 0] and unknown[1].sum() == pytest.approx(1)
    with pytest.raises(InvalidInput, match="data has 2 columns"):
        result.transform(np.ones((3, 2)))


def test_words_are_found_by_name(texts):
    pandas = pytest.importorskip("pandas")
    counts = count_words(texts)
    result = find_topics(counts, 4)
    frame = pandas.DataFrame(counts.matrix.toarray(), columns=counts.vocabulary)
    turned = frame.iloc[:, ::-1].assign(new=1.0)
    np.testing.assert_allclose(result.transform(turned), result.document_weights, atol=1e-9)


def test_abundances_of_the_same_pixels_are_the_same(scene):
    cube = scene.copy()
    cube[2, 3, 1] = np.nan
    cube[:, :, 5] = 0
    result = unmix(cube, 3)
    again = result.transform(cube)
    np.testing.assert_allclose(again[result.pixel_mask], result.abundances, atol=1e-9)
    assert np.flatnonzero(np.isnan(again[:, 0])).tolist() == [43]
    np.testing.assert_allclose(result.transform(as_cube(cube)), result.abundances, atol=1e-9)
    usable = cube.reshape(200, 8)[:, result.band_mask]
    np.testing.assert_array_equal(result.transform(usable), again)
    with pytest.raises(InvalidInput, match="data has 4 bands: give the 8 .* or its 7"):
        result.transform(np.ones((5, 4)))


@pytest.mark.parametrize("method", ["hals", "cones"])
def test_weights_of_the_same_images_are_the_same(method):
    images = load_digits().images[:60]
    result = find_parts(images, 4, method=method, random_state=0)
    np.testing.assert_allclose(result.transform(images), result.weights, atol=1e-9)
    dark = np.minimum(images[:9], 8)  # its own largest value is another one
    np.testing.assert_allclose(
        result.transform(dark), result.transform(dark.reshape(9, 64)), atol=1e-12
    )
    np.testing.assert_allclose(result.transform(images[:9] / 2), result.weights[:9] / 2, atol=1e-9)
    with pytest.raises(InvalidInput, match="5 x 5"):
        result.transform(np.ones((2, 5, 5)))


@pytest.mark.parametrize("method", ["hals", "poisson", "spa"])
def test_a_loaded_factorization_finds_the_weights_of_new_rows(method, tmp_path):
    rows = load_digits().data[:80]
    model = make_estimator(method, 4, certify=False).fit(rows[:60])
    model.factorization_.save(tmp_path / "fit.npz")
    again = load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.transform(rows[60:]), model.transform(rows[60:]))
    with pytest.raises(InvalidInput, match="the new rows have 5 columns, those of the result 64"):
        again.transform(rows[:, :5])


def test_tables_have_names(results, monkeypatch):
    pytest.importorskip("pandas")
    for kind, result in results.items():
        answer = as_answer(result)
        weights, components = answer.table(), answer.table("components")
        np.testing.assert_array_equal(weights.to_numpy(), answer.weights)
        np.testing.assert_array_equal(components.to_numpy(), answer.components)
        assert tuple(weights.columns) == answer.component_names, kind
    assert results["topics"].table("components").columns[7] == "word7"
    assert results["unmixing"].table().index[0] == "row 1, column 2"
    with pytest.raises(InvalidInput, match="of='rows'"):
        results["topics"].table("rows")
    with pytest.raises(InvalidInput, match="no error bars"):
        replace(results["topics"], error_bars=None).table("lower")
    topics = results["topics"].topics
    bars = ErrorBars(topics, 2 * topics, 3 * topics, "", 10, np.ones(len(topics)))
    barred = replace(results["topics"], error_bars=bars)
    np.testing.assert_array_equal(barred.table("upper"), 3 * barred.table("components"))
    np.testing.assert_array_equal(barred.tables()["lower"], barred.table("lower"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="files"):
        results["topics"].table()
    with pytest.raises(MissingExtra, match="files"):
        results["topics"].topic_info()


def test_answers_are_short_in_print(results):
    assert repr(results["topics"]) == "Topics(4 topics of 40 documents, method='merit')"
    assert repr(results["communities"]) == (
        "Communities(3 communities of 80 nodes, method='merit')"
    )
    assert repr(results["matrix"]) == (
        "Factorization(3 components of 25 rows and 12 columns, method='merit')"
    )


def test_every_answer_says_what_its_rows_and_columns_are(results):
    for kind, result in results.items():
        answer = as_answer(result)
        assert answer.kind == kind
        assert len(answer.row_names) == len(answer.weights)
        assert len(answer.column_names) == answer.components.shape[1]
        assert answer.share.sum() == pytest.approx(1)
        assert len(answer.largest(3)) == answer.n_components
    assert results["topics"].anchor_name(1) == "" and results["topics"].anchor_words[1] == "word7"
    assert results["unmixing"].anchor_name(0) == "row 1, column 2"
    bare = Answer(Factorization("spa", np.eye(3), np.eye(3), anchors=np.array([2, 0, 1])))
    assert bare.anchor_name(0) == "row 3"
    assert bare.column_names == ("column 1", "column 2", "column 3")


def test_components_can_be_named(results):
    named = replace(results["communities"], component_names=("a", "b", "c"))
    assert named.component_names == ("a", "b", "c") and named != results["communities"]
    with pytest.raises(InvalidInput, match="2 component_names for 3 components"):
        replace(named, component_names=("a", "b"))


def test_sizes_that_contradict_each_other_are_refused(results):
    with pytest.raises(InvalidInput, match="image_shape of 8 x 9"):
        replace(results["parts"], image_shape=(8, 9))
    with pytest.raises(InvalidInput, match="598 abundances of an image of 500"):
        replace(results["unmixing"], image_shape=(25, 20))


@pytest.fixture
def recipes():
    """A kind of answer that nothing in the package knows of."""

    @dataclass(frozen=True, eq=False, repr=False)
    class Recipes(Answer):
        kind: ClassVar[str] = "recipes"
        words: ClassVar[Words] = Words("Recipes", "taste", "meal", "spice", "strongest spices")

        amounts: Annotated[NDArray[np.float64], Shape("meals")]
        cook: str = ""

    yield Recipes
    del ANSWERS["recipes"]


def test_a_new_kind_of_answer_needs_its_class_only(recipes, results, tmp_path):
    answer = recipes(results["matrix"], np.arange(25.0), cook="me", notes=("tasted",))
    answer.save(tmp_path / "r.npz")
    loaded = load(tmp_path / "r.npz")
    assert loaded == answer and type(loaded) is recipes
    assert repr(loaded) == "Recipes(3 tastes of 25 meals, method='merit')"
    page = render(loaded)
    assert "<title>Recipes</title>" in page
    of_a_file = replace(loaded.factorization, origin=Origin(file="dinner.csv"))
    assert "<title>Recipes of dinner.csv</title>" in render(
        replace(loaded, factorization=of_a_file)
    )
    assert "3 tastes of a matrix with 25 meals and 12 spices." in page
    assert as_dict(loaded)["components"][0]["name"] == "Taste 1"
    assert loaded.table().shape == (25, 3)
