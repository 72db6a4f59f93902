"""Results written back beside the data of an h5ad file."""

from dataclasses import replace

import numpy as np
import pytest

from provenmf.errors import InvalidInput
from provenmf.io.annotated import write_h5ad
from provenmf.results import Factorization

h5py = pytest.importorskip("h5py", reason="h5ad files are HDF5")


@pytest.fixture
def cells(tmp_path):
    """Nine cells and five genes, as AnnData stores them."""
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = np.ones((9, 5))
        for axis, names in (("obs", 9), ("var", 5)):
            frame = file.create_group(axis)
            frame.attrs["_index"] = "_index"
            frame["_index"] = [f"{axis} {i}" for i in range(names)]
    return path


@pytest.fixture
def fit():
    rng = np.random.default_rng(0)
    return Factorization("spa", rng.random((9, 2)), rng.random((2, 5)))


def test_the_copy_holds_data_and_result(cells, fit, tmp_path):
    before = cells.read_bytes()
    write_h5ad(fit, cells, tmp_path / "out.h5ad")
    write_h5ad(replace(fit, method="hals"), tmp_path / "out.h5ad", tmp_path / "again.h5ad")
    assert cells.read_bytes() == before
    with h5py.File(tmp_path / "again.h5ad") as file:
        np.testing.assert_array_equal(file["obsm/X_provenmf"][()], fit.weights)
        np.testing.assert_array_equal(file["varm/provenmf"][()], fit.components.T)
        assert file["uns/provenmf/method"].asstr()[()] == "hals"
        assert file["X"].shape == (9, 5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.h5ad", "cells.h5ad", "out.h5ad"]


def test_anndata_reads_the_copy(cells, fit, tmp_path):
    anndata = pytest.importorskip("anndata", reason="AnnData reads what is written")
    write_h5ad(fit, cells, tmp_path / "out.h5ad")
    data = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(data.varm["provenmf"], fit.components.T)
    assert list(data.uns["provenmf"]["component_names"]) == ["Component 1", "Component 2"]


@pytest.mark.parametrize("shape", [(8, 5), (9, 4), (9, 6)])
def test_a_result_of_other_data_is_refused(cells, tmp_path, shape):
    other = Factorization("spa", np.ones((shape[0], 2)), np.ones((2, shape[1])))
    with pytest.raises(InvalidInput, match="give the file that was factorized"):
        write_h5ad(other, cells, tmp_path / "out.h5ad")
    assert not (tmp_path / "out.h5ad").exists()


def test_a_link_to_another_file_is_refused(cells, fit, tmp_path):
    victim = tmp_path / "victim.h5"
    h5py.File(victim, "w").create_group("obsm").file.close()
    before = victim.read_bytes()
    with h5py.File(cells, "r+") as file:
        file["obsm"] = h5py.ExternalLink("victim.h5", "obsm")
    with pytest.raises(InvalidInput, match="link"):
        write_h5ad(fit, cells, tmp_path / "out.h5ad")
    assert victim.read_bytes() == before
