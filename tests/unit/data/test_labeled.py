"""Containers of other libraries come in by one door, and their names go out with the result."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA, InvalidInput, certify, choose_rank, factorize

anndata, xarray, pandas, polars = map(
    pytest.importorskip, ("anndata", "xarray", "pandas", "polars")
)
da = pytest.importorskip("dask.array")
X = np.random.default_rng(0).integers(0, 9, (20, 6)).astype(float)
ROWS, COLUMNS = [f"cell{i}" for i in range(20)], [f"gene{j}" for j in range(6)]


def cells_of(matrix, **options):
    cells = anndata.AnnData(matrix, **options)
    cells.obs_names, cells.var_names = ROWS, COLUMNS
    return cells


def backed(folder, matrix):
    cells_of(matrix).write_h5ad(folder / "cells.h5ad")
    return anndata.read_h5ad(folder / "cells.h5ad", backed="r")


def dask(matrix):
    return da.from_array(matrix, (7, 6))


def labeled(matrix):
    return xarray.DataArray(matrix, coords={"cell": ROWS, "gene": COLUMNS}, dims=["cell", "gene"])


KINDS = {
    "anndata": lambda folder: cells_of(X),
    "anndata, sparse": lambda folder: cells_of(sp.csr_matrix(X)),
    "anndata, part": lambda folder: cells_of(np.vstack([X]), layers={"twice": 2 * X})[:, :],
    "anndata, Dask": lambda folder: cells_of(dask(X)),
    "anndata, on disk": lambda folder: backed(folder, X),
    "anndata, sparse on disk": lambda folder: backed(folder, sp.csr_matrix(X)),
    "xarray": lambda folder: labeled(X),
    "xarray, Dask": lambda folder: labeled(dask(X)),
    "pandas": lambda folder: pandas.DataFrame(X, index=ROWS, columns=COLUMNS),
    "polars": lambda folder: polars.DataFrame(X, schema=COLUMNS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_container_gives_the_answer_of_the_array_and_its_names(kind, tmp_path):
    data = KINDS[kind](tmp_path)
    found = SPA(3).fit(data)
    np.testing.assert_allclose(found.components_, SPA(3).fit(X).components_)
    assert found.factorization_.column_names.tolist() == COLUMNS
    if kind != "polars":  # whose frames have no names for rows
        assert found.factorization_.row_names.tolist() == ROWS
    np.testing.assert_allclose(found.transform(data), found.factorization_.weights)


def test_layers_raw_advice_and_certificates_take_them():
    cells = cells_of(X, layers={"twice": 2 * X})
    cells.raw = cells.copy()
    plain = HALS(2, random_state=0).fit(X)
    for data in (cells, cells.raw):
        again = HALS(2, random_state=0, certify=False).fit(data)
        np.testing.assert_array_equal(again.components_, plain.components_)
    doubled = factorize(cells.layers["twice"], 2, method="spa").components
    np.testing.assert_array_equal(doubled, 2 * factorize(cells, 2, method="spa").components)
    names = {c.name: c.status for c in certify(cells, plain.factorization_).checks}
    assert names["data that the result names"] == "holds"
    assert str(choose_rank(cells, [1, 2])) == str(choose_rank(X, [1, 2]))
    assert SPA(2).fit(cells).fit(X).factorization_.row_names is None  # names do not stay


def test_columns_of_other_names_and_containers_without_a_matrix_are_refused():
    cells = cells_of(X)
    model = SPA(2).fit(cells)
    other = cells_of(X)
    other.var_names = COLUMNS[::-1]
    with pytest.raises(InvalidInput, match="feature names should match"):
        model.transform(other)
    cells.X = None
    with pytest.raises(InvalidInput, match="without X: give a layer"):
        SPA(2).fit(cells)
    with pytest.raises(InvalidInput, match="give one of its arrays"):
        SPA(2).fit(xarray.Dataset({"a": labeled(X)}))
    with pytest.raises(InvalidInput, match=r"X\.collect"):
        SPA(2).fit(polars.LazyFrame(X))


def test_numbers_that_are_no_counts_name_the_rows_and_columns_of_a_frame():
    values = np.random.default_rng(0).gamma(0.4, size=(30, 6))
    spectra = pandas.DataFrame(values, 0.5 * np.arange(30), 400 + 10.0 * np.arange(6))
    result = factorize(spectra, 2, method="hals", random_state=0)
    assert result.column_names.tolist() == ["400.0", "410.0", "420.0", "430.0", "440.0", "450.0"]
    assert result.row_names[:2].tolist() == ["0.0", "0.5"]
    plain = factorize(pandas.DataFrame(values), 2, method="hals", random_state=0)
    assert plain.row_names is None and plain.column_names is None
    np.testing.assert_array_equal(plain.components, result.components)
