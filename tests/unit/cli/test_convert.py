"""`provenmf convert`: every source gives the rows of memory, and nothing is left half written."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.io import read_table

anndata = pytest.importorskip("anndata")


@pytest.fixture
def rows():
    return sp.random_array((90, 12), density=0.2, rng=np.random.default_rng(0), format="csr")


def cells(path, matrix, layout):
    stored = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "dense": sp.csr_array.toarray}[layout]
    found = anndata.AnnData(stored(matrix))
    found.obs_names = [f"obs{i}" for i in range(90)]
    found.var_names = [f"var{i}" for i in range(12)]
    found.write_h5ad(path)


def sources(folder, rows):
    """The same matrix in several forms."""
    table = "\n".join(
        [",".join(["", *(f"var{j}" for j in range(12))])]
        + [",".join([f"obs{i}", *map(repr, row)]) for i, row in enumerate(rows.toarray().tolist())]
    )
    (folder / "named.csv").write_text(table)
    sp.save_npz(folder / "small.npz", rows)
    for layout in ("csr", "csc", "dense"):
        cells(folder / f"{layout}.h5ad", rows, layout)
    return sorted(folder.iterdir())


def test_every_source_gives_the_same_rows(run, tmp_path, rows):
    folder = tmp_path / "in"
    folder.mkdir()
    for path in sources(folder, rows):
        ran = run("convert", path, f"{path.name}.out.npz")
        assert ran.code == 0, (path, ran)
        table = read_table(tmp_path / f"{path.name}.out.npz")
        np.testing.assert_array_equal(table.matrix.toarray(), rows.toarray(), err_msg=path.name)
        assert f"90 rows with {rows.nnz} entries" in ran.out
        named = path.name.endswith(("named.csv", ".h5ad"))
        assert (table.row_names or [""])[-1] == ("obs89" if named else "")
        assert (table.column_names or [""])[-1] == ("var11" if named else "")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("in.csv", "out.csv"), "end it in .npz"),
        (("in.csv", "there.npz"), "--force"),
        (("in.csv", "nowhere/out.npz"), "does not exist"),
        (("in.csv", "out.npz", "--key", "x"), "one matrix only"),
        (("bad.jsonl", "out.npz"), "not a matrix file"),
        (("bad.csv", "out.npz"), "row 41, column 2"),
    ],
)
def test_what_cannot_be_converted_is_said_in_one_line(run, tmp_path, arguments, message):
    (tmp_path / "in.csv").write_text("1,2\n3,4\n")
    (tmp_path / "there.npz").write_bytes(b"mine")
    (tmp_path / "bad.jsonl").write_text('{"text": "ship"}\n{"text": \n')
    (tmp_path / "bad.csv").write_text("1,2\n" * 40 + "1,x\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    ran = run("convert", *arguments)
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1, ran
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "there.npz").read_bytes() == b"mine"
