"""Gene programs of cells in AnnData objects."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import provenmf
from provenmf.errors import InvalidInput

anndata = pytest.importorskip("anndata", reason="AnnData is optional")
K, GENES, MARKED = 4, 300, 20


@pytest.fixture(scope="module")
def drawn():
    """Counts of cells whose genes have very different levels, their types, and the fold changes."""
    rng = np.random.default_rng(3)
    fold = np.ones((K, GENES))
    for row in fold:
        row[rng.choice(GENES, MARKED, replace=False)] = 6
    levels = fold * rng.lognormal(0, 1.8, GENES)
    kinds = rng.integers(K, size=240)
    means = (levels / levels.sum(axis=1, keepdims=True))[kinds] * rng.lognormal(8.5, 0.3, (240, 1))
    return rng.poisson(means).astype(np.float64), kinds, fold


def programs_of(counts, **options):
    data = anndata.AnnData(counts)
    provenmf.tl.nmf(data, K, random_state=0, **options)
    return data


def test_variable_genes_find_the_types_and_markers_their_genes(drawn):
    counts, kinds, fold = drawn
    data = programs_of(counts, n_genes=150)
    usages = data.obsm["X_provenmf"]
    assert adjusted_rand_score(kinds, usages.argmax(axis=1)) > 0.95
    types = [np.bincount(kinds[usages.argmax(axis=1) == j], minlength=K).argmax() for j in range(K)]
    marked = [set(map(int, data.uns["provenmf"]["markers"][j][:10])) for j in range(K)]
    hits = [len(marked[j] & set(np.flatnonzero(fold[types[j]] > 1))) for j in range(K)]
    largest = [set(np.argsort(-data.varm["provenmf"][:, j])[:10]) for j in range(K)]
    misses = [len(largest[j] & set(np.flatnonzero(fold[types[j]] > 1))) for j in range(K)]
    assert sum(hits) >= sum(misses) + 8
    assert "150 most variable of 300 genes" in data.uns["provenmf"]["notes"][0]
    assert "confirmed" in data.uns["provenmf"]["verdict"]
    np.testing.assert_allclose(data.varm["provenmf"].sum(axis=0), 1)


def test_marker_scores_are_coefficients_of_standardized_genes(drawn):
    counts = drawn[0]
    data = programs_of(counts, n_genes=None, evidence=False)
    usages = data.obsm["X_provenmf"]
    z = (usages - usages.mean(axis=0)) / usages.std(axis=0)
    spread = counts.std(axis=0)
    genes = (counts - counts.mean(axis=0)) / np.where(spread > 0, spread, 1)
    plain = np.linalg.lstsq(z, genes, rcond=None)[0]
    np.testing.assert_allclose(data.varm["provenmf_markers"].T, plain, atol=1e-8)


def test_sparse_backed_and_dask_give_the_same_programs(drawn, tmp_path):
    array = pytest.importorskip("dask.array", reason="Dask is optional")
    counts = drawn[0]
    dense = programs_of(counts, n_genes=100, evidence=False)
    anndata.AnnData(sp.csr_matrix(counts)).write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    provenmf.tl.nmf(backed, K, n_genes=100, evidence=False, random_state=0)
    lazy = programs_of(array.from_array(counts, chunks=(50, -1)), n_genes=100, evidence=False)
    for other in (backed, lazy):
        np.testing.assert_allclose(other.obsm["X_provenmf"], dense.obsm["X_provenmf"], rtol=1e-6)
    provenmf.tl.nmf(backed, K, n_genes=None, evidence=False, random_state=0)


def test_layers_and_keys(drawn):
    data = anndata.AnnData(np.zeros_like(drawn[0]), layers={"counts": drawn[0]})
    provenmf.tl.nmf(data, K, layer="counts", n_genes=100, evidence=False, key_added="nmf")
    assert {"nmf", "nmf_markers"} <= set(data.varm)
    with pytest.raises(InvalidInput, match="no gene varies"):
        provenmf.tl.nmf(data, K)
    with pytest.raises(InvalidInput, match="layer"):
        provenmf.tl.nmf(data, K, layer="count")
    with pytest.raises(InvalidInput, match="negative"):
        provenmf.tl.nmf(anndata.AnnData(-drawn[0]), K)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_genes_with_equal_shares_in_all_cells_are_ranked():
    totals = np.random.default_rng(0).random((30, 1))
    counts = totals * np.linspace(0.1, 1.0, 9)  # variances that round below zero
    data = anndata.AnnData(counts)
    provenmf.tl.nmf(data, 1, n_genes=5, evidence=False, random_state=0)
    assert data.uns["provenmf"]["notes"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_same_cell_many_times_has_no_markers():
    data = anndata.AnnData(np.tile(np.random.default_rng(0).random((1, 12)), (30, 1)))
    provenmf.tl.nmf(data, 1, n_genes=None, evidence=False, random_state=0)
    assert not data.varm["provenmf_markers"].any()


def test_small_integers_are_the_same_counts(drawn):
    counts = np.minimum(drawn[0], 250)  # squares exceed the type
    small, real = (
        programs_of(c, n_genes=50, evidence=False) for c in (counts.astype("u1"), counts)
    )
    np.testing.assert_array_equal(small.varm["provenmf"], real.varm["provenmf"])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones((0, 5)), "cells and genes are needed"),
        (np.full((9, 5), np.inf), "not finite"),
        (np.full((9, 5), 1e200), "outside 1e-60 to 1e60"),
        (np.full((9, 5), "a", dtype=object), "real numbers are needed"),
    ],
)
def test_what_is_no_expression_is_refused(counts, message):
    with pytest.raises(InvalidInput, match=message):
        provenmf.tl.nmf(anndata.AnnData(counts), 1)
    with pytest.raises(InvalidInput, match="give an AnnData object"):
        provenmf.tl.nmf(counts, 1)
