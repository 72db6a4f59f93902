"""The door for arrays: nothing of the user's changes, every real type is read, bad ones named."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.data.door import are_counts, at_safe_scale
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import own_rows
from provenmf.methods import CATALOGUE, estimator_class

X = dirichlet_mixtures(n_rows=40, n_columns=8, n_components=3, random_state=0).data
SMALL = np.where(X > np.median(X), X, 0.0)


def unsorted_rows(matrix: np.ndarray) -> sp.csr_array:
    """Rows whose columns run backwards, each entry in two halves."""
    rows, columns = np.nonzero(matrix)
    order = np.lexsort((-columns, rows))
    rows, columns = np.repeat(rows[order], 2), np.repeat(columns[order], 2)
    values = matrix[rows, columns] / 2
    pointers = np.searchsorted(rows, np.arange(len(matrix) + 1))
    return sp.csr_array((values, columns, pointers), shape=matrix.shape)


def seeded(method: str):
    model = estimator_class(method)(n_components=3)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


@pytest.mark.parametrize("method", sorted(CATALOGUE))
@pytest.mark.parametrize("order", [unsorted_rows, sp.csr_array])
def test_a_fit_leaves_rows_as_they_are_and_needs_not_write_to_them(method, order):
    given = order(SMALL)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    found, wanted = seeded(method).fit(given), seeded(method).fit(sp.csr_array(SMALL))
    np.testing.assert_allclose(found.components_, wanted.components_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize("dtype", ["f2", "g", ">f4", ">f8", ">i4", "i1", "u8", "?"])
def test_every_real_type_becomes_a_native_float(kind, dtype):
    numbers = np.round(SMALL * 10)
    given = numbers.astype(dtype) if kind == "dense" else getattr(sp, f"{kind}_array")(numbers)
    if kind != "dense":
        given.data = given.data.astype(dtype)
    block = as_blocks(given).everything()
    assert block.dtype == (np.float32 if dtype == ">f4" else np.float64)
    assert block.dtype.isnative
    dense = block.toarray() if kind != "dense" else block
    np.testing.assert_array_equal(dense, numbers.astype(dtype).astype(np.float64))


def test_rows_are_shared_where_they_are_in_order():
    given = sp.csr_array(SMALL)
    assert np.shares_memory(as_blocks(given).everything().data, given.data)
    assert np.shares_memory(as_blocks(SMALL).everything(), SMALL)
    for other in (np.asfortranarray(SMALL), SMALL[:, ::-1].copy()[:, ::-1]):
        found = as_blocks(other).everything()
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, SMALL)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_indices_are_as_narrow_as_they_can_be(form):
    given = getattr(sp, f"{form}_array")(SMALL)
    names = ("row", "col") if form == "coo" else ("indices", "indptr")
    if form == "coo":
        given.coords = tuple(places.astype(np.int64) for places in given.coords)
    else:
        for name in names:
            setattr(given, name, getattr(given, name).astype(np.int64))
    found = own_rows(given)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert all(getattr(given, name).dtype == np.int64 for name in names)


def damaged(kind: str) -> sp.sparray:
    matrix = getattr(sp, f"{'csr' if 'pointers' in kind else kind}_array")(SMALL)
    if kind == "coo":
        matrix.col[0] = 10**6
    elif "pointers" in kind:
        matrix.indptr[1:-1] = 10**6
        matrix.indptr[-1] *= "zero" not in kind  # scipy takes this for a matrix without entries
    else:
        matrix.indices[0] = 10**6
    return matrix


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "pointers", "pointers to zero"])
def test_indices_outside_the_matrix_are_refused(kind):
    with pytest.raises(InvalidInput, match="not a valid sparse matrix"):
        own_rows(damaged(kind))
    with pytest.raises(InvalidInput, match="not a valid sparse matrix"):
        estimator_class("spa")(n_components=2).fit(damaged(kind))


@pytest.mark.parametrize("method", sorted(CATALOGUE))
@pytest.mark.parametrize("size", [1e-310, 1e-61, 1e61, 1e300])
def test_extreme_scales_are_refused_by_name(method, size):
    given = X / X.max() * size
    with pytest.raises(InvalidInput, match=r"outside 1e-60 to 1e60: multiply it by 1e") as refusal:
        seeded(method).fit(given)
    factor = float(str(refusal.value).rpartition(" ")[2])
    assert 1e-60 < (given * factor).max() < 1e60


@pytest.mark.parametrize(("size", "dtype"), [(0, "f4"), (1, "f4"), (1e-30, "f8"), (1e30, "f8")])
def test_single_precision_is_kept_where_it_is_safe(size, dtype):
    assert at_safe_scale(as_blocks((size * X).astype(np.float32))).dtype == dtype


@pytest.mark.parametrize(("form", "size"), [(np.asarray, 1e-30), (sp.csr_array, 1e30)])
@pytest.mark.parametrize("method", sorted(CATALOGUE))
def test_single_precision_out_of_reach_is_computed_in_double(method, size, form):
    data = (X / X.max() * size).astype(np.float32)
    model = seeded(method).fit(form(data))
    found = model.factorization_
    rest = data.astype(float) / size - found.weights @ (found.components / size)
    error = np.linalg.norm(rest) / np.linalg.norm(data.astype(float) / size)
    assert model.certificate_.measures["relative_error"] == pytest.approx(error, abs=0.01)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("odd", [np.inf, np.nan, 0.5, -1.0])
def test_what_cannot_be_a_count_is_told_without_a_warning(odd):
    assert are_counts(as_blocks(np.array([[0.0, 2.0], [1.0, 3.0]])))
    assert not are_counts(as_blocks(np.array([[0.0, 2.0], [odd, 3.0]])))


def test_an_empty_file_is_named(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((12, 0)))
    with pytest.raises(InvalidInput, match=r"rows\.npy has shape \(12, 0\)"):
        as_blocks(tmp_path / "rows.npy")
