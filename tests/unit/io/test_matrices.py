import gzip
import pickle

import anndata
import h5py
import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse as sp

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io import read_matrix, read_table

MATRIX = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0]])


def as_dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def write_new_mat(path, sparse=False):
    with h5py.File(path, "w", userblock_size=512) as file:
        if sparse:
            group, columns = file.create_group("X"), sp.csc_array(MATRIX)
            group.attrs["MATLAB_sparse"] = np.uint64(len(MATRIX))
            group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr
        else:
            file["X"] = MATRIX.T
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def write_parquet(path):
    frame = pandas.DataFrame(MATRIX, columns=list("abc"))
    frame.insert(0, "name", ["one", "two"])
    frame.to_parquet(path)


def write_h5ad(path):
    cells = anndata.AnnData(sp.csr_matrix(MATRIX), layers={"twice": 2 * MATRIX})
    cells.obs_names, cells.var_names = ["one", "two"], list("abc")
    cells.raw = cells[:, :2].copy()
    cells.write_h5ad(path)


def text(content):
    return lambda path: path.write_text(content, encoding="utf-8")


NAMED = '\ufeffname,a,b,"c, d"\n"row, one",1,0,2.5\nrow2,0,3,0\n'
ROWS, COLUMNS = ["one", "two"], ["a", "b", "c"]
# name of the file, how to write it, the names of rows and columns that it has
FILES = [
    ("m.npy", lambda path: np.save(path, MATRIX), None, None),
    ("m.npz", lambda path: np.savez(path, X=MATRIX, label=np.arange(2)), None, None),
    ("csc.npz", lambda path: sp.save_npz(path, sp.csc_array(MATRIX)), None, None),
    ("coo.npz", lambda path: sp.save_npz(path, sp.coo_array(MATRIX)), None, None),
    ("m.csv", text("1,0,2.5\n0,3,0\n"), None, None),
    ("named.csv", text(NAMED), ["row, one", "row2"], ["a", "b", "c, d"]),
    ("m.tsv", text("a\tb\tc\n1\t0\t2.5\n0\t3\t0\n"), None, COLUMNS),
    ("corner.tsv", text("a\tb\tc\none\t1\t0\t2.5\ntwo\t0\t3\t0\n"), ROWS, COLUMNS),
    ("m.csv.gz", lambda p: p.write_bytes(gzip.compress(b"1,0,2.5\r\n0,3,0\r\n")), None, None),
    ("m.mtx", lambda path: scipy.io.mmwrite(path, sp.coo_array(MATRIX)), None, None),
    ("m.mat", lambda path: scipy.io.savemat(path, {"X": MATRIX, "name": "text"}), None, None),
    ("sparse.mat", lambda path: scipy.io.savemat(path, {"X": sp.csc_array(MATRIX)}), None, None),
    ("new.mat", write_new_mat, None, None),
    ("new_sparse.mat", lambda path: write_new_mat(path, sparse=True), None, None),
    ("m.parquet", write_parquet, ROWS, COLUMNS),
    ("m.h5ad", write_h5ad, ROWS, COLUMNS),
]


@pytest.mark.parametrize("name, write, rows, columns", FILES, ids=[file[0] for file in FILES])
def test_every_format_gives_the_same_matrix_and_its_names(tmp_path, name, write, rows, columns):
    write(tmp_path / name)
    table = read_table(tmp_path / name)
    np.testing.assert_array_equal(as_dense(table.matrix), MATRIX)
    assert (table.row_names, table.column_names) == (rows, columns)
    turned = table.transposed
    assert (turned.row_names, turned.column_names, turned.matrix.shape) == (columns, rows, (3, 2))


def test_layers_and_raw_counts_of_h5ad(tmp_path):
    path = tmp_path / "m.h5ad"
    write_h5ad(path)
    np.testing.assert_array_equal(read_matrix(path, "twice"), 2 * MATRIX)
    raw = read_table(path, "raw")
    np.testing.assert_array_equal(raw.matrix.toarray(), MATRIX[:, :2])
    assert raw.column_names == ["a", "b"]
    with pytest.raises(UnreadableFile, match="no layer 'x': it holds X, twice, raw"):
        read_matrix(path, "x")


@pytest.mark.parametrize("index", [True, False])
def test_frames_with_integer_columns(tmp_path, index):
    """Their header was taken for a row of data, or refused."""
    frame = pandas.DataFrame(np.arange(8.0).reshape(2, 4) / 4, index=[7, 3])
    frame.to_csv(tmp_path / "m.csv", index=index)
    table = read_table(tmp_path / "m.csv")
    np.testing.assert_array_equal(table.matrix, frame)
    assert table.column_names == ["0", "1", "2", "3"]
    assert table.row_names == (["7", "3"] if index else None)


@pytest.mark.parametrize("names", [None, ["a", "b", "c"], [0, 1, 2]])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("scale", [[400.5, 410.5, 421.5, 440.5], [900, 700, 500, 300], range(1, 5)])
def test_wavelengths_are_a_header(tmp_path, names, missing, scale):
    """They were a row of data, and beside numbered rows the numbers were a column of data."""
    frame = pandas.DataFrame(np.random.default_rng(0).random((3, 4)), names, scale)
    frame.to_csv(tmp_path / "m.csv", index=names is not None)
    table = read_table(tmp_path / "m.csv", missing=missing)
    np.testing.assert_array_equal(table.matrix, frame)
    assert table.column_names == [str(value) for value in scale]
    assert table.row_names == (names and [str(name) for name in names])


def test_a_column_of_numbers_or_times_names_the_rows(tmp_path):
    values = np.random.default_rng(0).random((5, 2))
    lines = [f"{400 + 10 * i},{a},{b}" for i, (a, b) in enumerate(values)]
    (tmp_path / "m.csv").write_text("\n".join(["wavelength,one,two", *lines]))
    table = read_table(tmp_path / "m.csv")
    np.testing.assert_array_equal(table.matrix, values)
    assert table.row_names == ["400", "410", "420", "430", "440"]
    assert table.column_names == ["one", "two"]


@pytest.mark.parametrize(
    "rows", [[[1, 2, 3, 4], [5, 6, 7, 8]], [[4, 1, 3, 9], [1, 2, 3, 4]], [[7, 8, 9], [1, 1, 1]]]
)
def test_rows_of_data_are_no_header(tmp_path, rows):
    (tmp_path / "m.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    table = read_table(tmp_path / "m.csv")
    np.testing.assert_array_equal(table.matrix, rows)
    assert table.row_names is None and table.column_names is None


def test_a_missing_first_cell_is_no_corner(tmp_path):
    (tmp_path / "m.csv").write_text(",5,2\n3,1,4\n")
    matrix = read_table(tmp_path / "m.csv", missing=True).matrix
    np.testing.assert_array_equal(matrix, [[np.nan, 5, 2], [3, 1, 4]])


def test_key_chooses_among_several(tmp_path):
    np.savez(tmp_path / "m.npz", A=MATRIX, B=2 * MATRIX)
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.npz", "B"), 2 * MATRIX)
    with pytest.raises(InvalidInput, match="several matrices, A, B: choose one, such as key='A'"):
        read_matrix(tmp_path / "m.npz")
    (tmp_path / "m.csv").write_text("1,2\n3,4\n")
    with pytest.raises(InvalidInput, match="holds one matrix only: leave out key='A'"):
        read_matrix(tmp_path / "m.csv", "A")
    with pytest.raises(InvalidInput, match="has no 'C': it holds A, B"):
        read_matrix(tmp_path / "m.npz", "C")


class Explosive:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was run",))


@pytest.mark.parametrize("name", ["m.npz", "m.npy"])
def test_pickles_are_refused_and_not_run(tmp_path, name):
    array = np.array([Explosive()], dtype=object)
    (np.savez if name == "m.npz" else np.save)(tmp_path / name, array)
    with pytest.raises(UnreadableFile, match=r"m\.np. holds pickled Python objects"):
        read_matrix(tmp_path / name)
    (tmp_path / name).write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(UnreadableFile, match=f"{name} is not a readable"):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize("name", ["m.npy", "m.npz", "m.mtx", "m.mat", "m.parquet", "m.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"%PDF-1.7" + bytes(100)])
def test_a_file_that_lies_about_its_format(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableFile, match=name):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "has no rows"),
        (b"a,b\n", "a header but no rows"),
        (b"1,2\n3\n", "not a readable table of numbers"),
        (b"1,2\n3,x\n", "row 2, column 2"),
        (b"\x00\x01\x02", "binary file"),
        (b"\xff\xfe1", "is not utf-8"),
    ],
)
def test_bad_tables(tmp_path, content, message):
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=message) as error:
        read_matrix(path)
    assert str(path) in str(error.value)


def test_missing_and_foreign_files(tmp_path):
    (tmp_path / "m.docx").write_bytes(b"text")
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table([[1.0], [2.0]], names=["a", "a"])
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "m.parquet")
    for name, message in {
        "none.npy": "does not exist",
        "m.docx": "is not a matrix file: use one of",
        "cube.npy": "a matrix is needed",
        "m.parquet": "several columns of the same name",
    }.items():
        with pytest.raises(InvalidInput, match=message):
            read_matrix(tmp_path / name)
