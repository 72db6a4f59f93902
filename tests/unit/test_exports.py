"""Answers in the containers of other packages."""

import numpy as np
import pytest

from provenmf.errors import InvalidInput, MissingExtra
from provenmf.results import as_answer


def test_anndata_has_weights_components_and_names(results):
    anndata = pytest.importorskip("anndata", reason="AnnData is optional")
    answer = results["topics"]
    data = answer.to_anndata()
    np.testing.assert_array_equal(data.obsm["X_provenmf"], answer.document_weights)
    np.testing.assert_array_equal(data.varm["provenmf"].T, answer.topics)
    assert data.var_names[5] == "word5"
    plain = answer.factorization
    assert plain.to_anndata().obsm["X_provenmf"].shape == plain.table().shape
    given = anndata.AnnData(np.ones((40, 60)))
    found = answer.to_anndata(given)
    assert "X_provenmf" in found.obsm and "X_provenmf" not in given.obsm
    with pytest.raises(InvalidInput, match="give the one that was factorized"):
        answer.to_anndata(anndata.AnnData(np.ones((2, 3))))


def test_xarray_speaks_the_words_of_the_application(result):
    pytest.importorskip("xarray", reason="xarray is optional")
    answer = as_answer(result)
    dataset = answer.to_xarray()
    words = answer.words
    assert dataset["weights"].dims == (words.row, words.component)
    assert dataset["share"].sum() == pytest.approx(1)
    if answer.kind == "unmixing":
        assert dataset["maps"].shape == (3, 30, 20)
        assert dataset["wavelength"].values[0] == 400


@pytest.mark.parametrize(
    ("package", "method"), [("anndata", "to_anndata"), ("xarray", "to_xarray")]
)
def test_a_missing_package_is_named(results, monkeypatch, package, method):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtra, match=r"provenmf\[export\]"):
        getattr(results["topics"], method)()
