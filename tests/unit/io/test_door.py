"""The door for files: whatever they hold, the outcome is data or one error that names the file."""

import gzip
import lzma
import os
import zipfile

import anndata
import h5py
import pytest
import scipy.io
import scipy.sparse as sp
from PIL import Image

from provenmf.data import as_blocks
from provenmf.errors import TooLarge, UnreadableFile
from provenmf.io import (
    files as limits_of_files,
    read_cube,
    read_graph,
    read_images,
    read_matrix,
    read_texts,
    unlimited,
)
from provenmf.io.files import stream_lines

X = sp.random(12, 7, 0.4, random_state=0, format="csr")


def test_indices_out_of_range_in_h5ad(tmp_path):
    path = tmp_path / "bad.h5ad"
    anndata.AnnData(X).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file["X/indices"][3] = 10**8
    with pytest.raises(UnreadableFile, match=r"bad\.h5ad"):
        read_matrix(path)


@pytest.mark.parametrize("kind", ["link", "soft", "storage", "virtual"])
def test_an_hdf5_file_may_not_lead_out_of_itself(tmp_path, kind):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["X"] = X.toarray()
    (tmp_path / "secret.raw").write_bytes(X.toarray().tobytes())
    path = tmp_path / "crafted.h5ad"
    with h5py.File(path, "w") as file:
        if kind == "link":
            file["X"] = h5py.ExternalLink(str(secret), "/X")
        elif kind == "soft":
            file["way"] = h5py.ExternalLink(str(secret), "/")
            file["X"] = h5py.SoftLink("/way/X")
        elif kind == "storage":
            outside = [(str(tmp_path / "secret.raw"), 0, h5py.h5f.UNLIMITED)]
            file.create_dataset("X", X.shape, "f8", external=outside)
        else:
            layout = h5py.VirtualLayout(X.shape, "f8")
            layout[:] = h5py.VirtualSource(str(secret), "X", X.shape)
            file.create_virtual_dataset("X", layout)
    with pytest.raises(UnreadableFile, match="refused"):
        read_matrix(path)
    matlab = tmp_path / "crafted.mat"
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    matlab.write_bytes(header.ljust(512, b"\0") + path.read_bytes())
    with pytest.raises(UnreadableFile):
        read_matrix(matlab)


def test_a_reader_that_crashes_or_never_ends_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"X": X.toarray()})
    with monkeypatch.context() as context, pytest.raises(UnreadableFile, match="reader .* crashed"):
        context.setattr("provenmf.io.child.CHILD", "import os; os.abort()")
        read_matrix(path)
    monkeypatch.setattr("provenmf.io.child.BASE_SECONDS", 0.01)
    with pytest.raises(UnreadableFile, match="could not be read within"):
        read_matrix(path)


HEAD = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "body",
    [
        b"2 2 1\n1 1 1\x00.5\n",
        b"2 2 1\n1 3 1.5\n",
        b"2 2 1\n0 1 1.5\n",
        b"2 2 99999999999\n1 1 2\n",
        b"-2 2 1\n1 1 1\n",
    ],
)
def test_damaged_matrix_market(tmp_path, body):
    path = tmp_path / "m.mtx"
    path.write_bytes(HEAD + body)
    with pytest.raises(UnreadableFile, match=r"m\.mtx"):
        read_matrix(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
@pytest.mark.parametrize("name", ["a.npy", "a.txt", "a.mtx", "a.mat", "a.npz", "a.graphml"])
def test_pipes_are_refused(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    readers = [read_matrix, read_texts, read_graph, read_images, read_cube, as_blocks]
    for reader in readers:
        with pytest.raises(UnreadableFile, match=r"pipe|not a regular file"):
            reader(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_bombs_are_refused_and_the_limit_can_be_lifted(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(limits_of_files, "FREE_BYTES", 2**20)
    path = tmp_path / ("b.txt" + (".gz" if pack is gzip.compress else ".xz"))
    path.write_bytes(pack(b"word another\n" * 100_000))
    lines = stream_lines(path)
    with pytest.raises(TooLarge, match="unfolds to"):
        next(lines)  # before any of it is parsed
    with unlimited():
        assert len(read_texts(path).texts) == 100_000


def test_a_small_npz_may_not_declare_a_huge_matrix(tmp_path):
    path = tmp_path / "m.npz"
    sp.save_npz(path, sp.csr_array(([1.0], ([0], [2])), shape=(2, 2_000_000_000)))
    with pytest.raises(TooLarge, match="2 x 2000000000 matrix with 1 entries"):
        read_matrix(path)


@pytest.mark.parametrize("shape", ["(20000000000,)", "(-1, 3)", "((1,), 2)", "(" * 300])
def test_npy_headers(tmp_path, shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"0" * 64
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", content)
    for path in (tmp_path / "a.npy", tmp_path / "a.npz"):
        with pytest.raises(UnreadableFile, match=path.name):
            read_matrix(path)
    with pytest.raises(UnreadableFile):
        as_blocks(tmp_path / "a.npy")


def test_picture_bombs(tmp_path, monkeypatch):
    Image.new("L", (3000, 3000)).save(tmp_path / "a.png")
    monkeypatch.setattr(limits_of_files, "FREE_BYTES", 2**20)
    with pytest.raises(TooLarge, match=r"a\.png"):
        read_images(tmp_path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(UnreadableFile, match="DecompressionBomb"):
        read_images(tmp_path)
