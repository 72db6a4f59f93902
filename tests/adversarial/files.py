"""Files of every format that we read, and damaged ones made of them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import multiprocessing
import os
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.io
import scipy.sparse as sp
from matrices import Rng
from oracles import hold, is_allowed
from pool import let_it_run

from provenmf import SPA, Checkpoint, find_topics, io as readers, load
from provenmf.cli.applications import read_stop_words
from provenmf.data import as_blocks
from provenmf.errors import LONGEST_MESSAGE
from provenmf.io import child
from provenmf.io.records import load_snapshot, save_snapshot
from provenmf.io.texts import read_column
from provenmf.methods.checkpoint import Keeper

CHILD_SECONDS = 2  # CPU seconds for a guarded reader; damaged HDF5 files keep it busy for ever
X = sp.random(12, 6, 0.5, random_state=0, format="csr")
Maker = Callable[[Path], Any]
Reader = Callable[[Path], Any]
TOKENS = (b"\x1b[2J", b"\x07", b"a" * 6000, b"nan", b"inf", b"-1", b"1e999", b"\x00", b"\xff" * 4)
TOKENS += (b"\x7f\xff\xff\xff", b"\n", b",", b'"', b"99999999999", b"{", b"[" * 40, b"%", b"e")
TOKENS += (b"\xef\xbb\xbf",)


def _h5ad(path: Path) -> None:
    import anndata

    anndata.AnnData(X, layers={"counts": X}).write_h5ad(path)


def _matlab_7_3(path: Path) -> None:
    import h5py

    columns = X.tocsc()
    with h5py.File(path, "w") as file:
        file["M"] = DENSE
        file.create_group("record")["field"] = DENSE
        file["letters"] = np.array([72, 105], dtype=np.uint16)
        file["letters"].attrs["MATLAB_class"] = np.bytes_("char")
        file["waves"] = np.zeros((3, 2), dtype=[("real", "f8"), ("imag", "f8")])
        file["cells"] = np.array([file["M"].ref, file["letters"].ref], dtype=h5py.ref_dtype)
        file["cells"].attrs["MATLAB_class"] = np.bytes_("cell")
        sparse = file.create_group("S")
        sparse.attrs["MATLAB_sparse"] = np.uint64(12)
        for name, part in zip(
            ("data", "ir", "jc"), (columns.data, columns.indices, columns.indptr)
        ):
            sparse[name] = part if name == "data" else part.astype(np.uint64)
    head = (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM").ljust(512, b"\0")
    path.write_bytes(head + path.read_bytes())


def _parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"c{j}": DENSE[:, j] for j in range(4)}
    pq.write_table(pa.table({"text": [f"red green {i}" for i in range(12)], **columns}), path)


def _network(path: Path) -> None:
    import networkx

    graph = networkx.relabel_nodes(networkx.karate_club_graph(), str)
    getattr(networkx, f"write_{path.suffix[1:]}")(graph, path)


def _picture(path: Path) -> None:
    from PIL import Image

    Image.fromarray((DENSE * 255).astype(np.uint8)).save(path)


def _maps(path: Path) -> None:
    import tifffile

    bands = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
    told = [(42113, "s", 0, b"nan", True)]
    options = {"photometric": "minisblack", "planarconfig": "separate", "metadata": None}
    tifffile.imwrite(path, bands, extratags=told, **options)


def _topics(path: Path) -> None:
    find_topics(DOCUMENTS, 2, random_state=0).save(path)


def _keeper(path: Path) -> Keeper:
    keeper = Keeper(Checkpoint(path.parent), {"data": "ab", "method": "HALS"})
    keeper.seed(7)
    return keeper


def _result(path: Path) -> None:
    SPA(2).fit(DENSE).factorization_.save(path)


def _with_counts(vocabulary: Path) -> Any:
    np.save(vocabulary.with_name("counts.npy"), DENSE)
    return readers.read_counts(vocabulary.with_name("counts.npy"), vocabulary)


def _with_header(image: Path) -> Any:
    image.with_suffix(".hdr").write_bytes(HEADER)
    return readers.read_cube(image.with_suffix(".hdr"))


def npy(array: Any) -> Maker:
    return lambda path: np.save(path, array)


def npz(**arrays: Any) -> Maker:
    return lambda path: np.savez_compressed(path, **arrays)


def sparse(matrix: Any) -> Maker:
    return lambda path: sp.save_npz(path, matrix)


def mtx(matrix: Any) -> Maker:
    return lambda path: scipy.io.mmwrite(path, matrix)


def mat(packed: bool = False, **arrays: Any) -> Maker:
    return lambda path: scipy.io.savemat(path, arrays, do_compression=packed)


def part(key: str) -> Reader:
    return lambda path: readers.read_matrix(path, key)


def by(column: str) -> Reader:
    return lambda path: read_column(path, column, [])


def in_blocks(path: Path) -> Any:
    return as_blocks(path).everything()


def images_of(*shape: int) -> Reader:
    return lambda path: readers.read_images(path, shape=shape)


DENSE = X.toarray()
LINKS = X @ X.T
CUBE = np.arange(60, dtype=float).reshape(3, 4, 5) + 1
STATE = {"state": {"factors": (np.eye(3), np.ones(4)), "set": frozenset({1, 2})}, "done": 3}
DOCUMENTS = ["ship sail wave föhn", "bread oven flour"] * 6
LINES = [json.dumps({"text": text, "id": i % 3}) + "\n" for i, text in enumerate(DOCUMENTS)]
TEXTS = "".join(LINES).encode()
TABLE = b"name,a,b,c\n" + b"".join(b"r%d,%d,2.5,1e-3\n" % (i, i) for i in range(9))
TABBED = TABLE.replace(b",", b"\t")
EDGES = b"".join(b"%d %d 1.5\n" % (i, (i * 7 + 1) % 11) for i in range(20))
HEADER = (
    b"ENVI\nsamples = 4\nlines = 3\nbands = 5\nheader offset = 0\ndata type = 4\n"
    b"interleave = bsq\nbyte order = 0\nwavelength = {1, 2, 3, 4, 5}\n"
)
PAJEK = b'*vertices 3\n1 "a"\n2 "b"\n3 "c"\n*edges\n1 2 1.5\n2 3\n'
RECORDS = ("record.npz", "topics.npz")  # their content is damaged, not the archive

# name of the file: the content of a good one or how to write it, how to read it
FORMATS: dict[str, tuple[bytes | Maker, Reader]] = {
    "m.npy": (npy(DENSE), readers.read_matrix),
    "m.npz": (npz(X=DENSE), readers.read_matrix),
    "sparse.npz": (sparse(X), readers.read_matrix),
    "m.csv": (TABLE, readers.read_table),
    "m.tsv.gz": (gzip.compress(TABBED, mtime=0), readers.read_table),
    "m.mtx": (mtx(X), readers.read_matrix),
    "dense.mtx": (mtx(DENSE), readers.read_matrix),
    "m.mat": (mat(X=DENSE, S=X.tocsc(), t="a"), part("S")),
    "packed.mat": (mat(True, X=DENSE, S=X.tocsc(), t="a"), part("X")),
    "new.mat": (_matlab_7_3, part("M")),
    "new_sparse.mat": (_matlab_7_3, part("S")),
    "m.h5ad": (_h5ad, readers.read_matrix),
    "m.parquet": (_parquet, readers.read_matrix),
    "t.parquet": (_parquet, readers.read_texts),
    "t.jsonl": (TEXTS, readers.read_texts),
    "t.jsonl.xz": (lzma.compress(TEXTS), readers.read_texts),
    "t.csv": ("\n".join(["text", *DOCUMENTS]).encode(), readers.read_texts),
    "t.txt": ("\n".join(DOCUMENTS).encode(), readers.read_texts),
    "g.txt": (EDGES, readers.read_graph),
    "g.graphml": (_network, readers.read_graph),
    "cube.npz": (npz(Y=DENSE + 1, nrow=3, ncol=4), readers.read_cube),
    "cube.hdr": (HEADER, readers.read_cube),
    "cube.tif": (_maps, readers.read_cube),
    "g.gml": (_network, readers.read_graph),
    "g.net": (PAJEK, readers.read_graph),
    "t.json": (json.dumps(DOCUMENTS).encode(), readers.read_texts),
    "semicolon.csv": (b"id;text\n" + b"1;red green\n" * 9, readers.read_texts),
    **{
        f"pictures/p.{kind}": (_picture, readers.read_images)
        for kind in ("png", "jpg", "tif", "gif", "bmp", "pgm")
    },
    "result.npz": (_result, load),
    "record.npz": (_result, load),
    "topics.npz": (_topics, load),
    "blocks.npy": (npy(DENSE), in_blocks),
    "gaps.csv": (TABLE.replace(b"4,2.5", b"4,"), partial(readers.read_table, missing=True)),
    "state.npz": (lambda path: save_snapshot(path, STATE), load_snapshot),
    "fit.json": (_keeper, _keeper),
    "by.jsonl": (TEXTS, by("id")),
    "by.csv": (TABLE, by("a")),
    "words.txt": ("ä\nb\nc\nd\ne\nf\n".encode(), _with_counts),
    "letters/t.txt": (DOCUMENTS[0].encode(), readers.read_texts),
    "cube.mat": (mat(Y=DENSE + 1, nrow=3, ncol=4), readers.read_cube),
    "images.npz": (npz(X=DENSE), images_of(2, 3)),
    "g.mtx": (mtx(LINKS), readers.read_graph),
    "m.txt": (TABLE.replace(b",", b" "), readers.read_table),
    "m.mtx.gz": (lambda path: path.write_bytes(gzip.compress(good("m.mtx"))), readers.read_matrix),
    "t.tsv": (b"text\tid\n" + b"red green\t1\n" * 9, readers.read_texts),
    "by.tsv": (TABBED, by("a")),
    "by.parquet": (_parquet, by("c1")),
    "cube.npy": (npy(CUBE), readers.read_cube),
    "cube.img": (CUBE.astype("f4").tobytes(), _with_header),
    "images.npy": (npy(CUBE), readers.read_images),
    "images.mat": (mat(X=CUBE), images_of(4, 5)),
    "g.npz": (sparse(LINKS), readers.read_graph),
    "g.npy": (npy(LINKS.toarray()), readers.read_graph),
    "g.mat": (mat(A=LINKS), readers.read_graph),
    "stop.txt": ("the\nof und über\n".encode(), lambda path: read_stop_words(str(path))),
}


@cache
def good(name: str) -> bytes:
    make = FORMATS[name][0]
    if isinstance(make, bytes):
        return make
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, Path(name).name)
        make(path)
        return path.read_bytes()


def damaged(rng: Rng, content: bytes) -> bytes:
    """A few bytes changed, cut, doubled, or replaced by tokens that parsers dislike."""
    out = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 4, 16]))):
        place = int(rng.integers(len(out) or 1))
        how = rng.integers(6)
        if how == 0:
            out[place : place + 1] = bytes([rng.integers(256)])
        elif how == 1 and out:
            out[place] ^= 1 << int(rng.integers(8))
        elif how == 2:
            token = TOKENS[rng.integers(len(TOKENS))]
            out[place : place + int(rng.choice([0, len(token)]))] = token
        elif how == 3 and rng.random() < 0.3:
            del out[place:]
        elif how == 4:
            del out[place : place + int(rng.integers(1, 9))]
        else:
            other = int(rng.integers(len(out) or 1))
            out[place:place] = out[other : other + int(rng.integers(1, 33))]
    return bytes(out)


def damaged_inside(rng: Rng, content: bytes) -> bytes:
    """An archive whose members are damaged, not its own structure."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = list(members)[rng.integers(len(members))]
    if rng.random() < 0.1:
        del members[chosen]
    else:
        head = 128 if rng.random() < 0.7 else 0  # keep numpy's header more often than not
        members[chosen] = members[chosen][:head] + damaged(rng, members[chosen][head:])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def mutant(rng: Rng, name: str) -> bytes:
    content = good(name)
    if name.endswith(".npz") and (name in RECORDS or rng.random() < 0.5):
        return damaged_inside(rng, content)
    if name.endswith((".gz", ".xz")) and rng.random() < 0.5:
        pack = gzip.compress if name.endswith(".gz") else lzma.compress
        unpack = gzip.decompress if name.endswith(".gz") else lzma.decompress
        return pack(damaged(rng, unpack(content)))
    return damaged(rng, content)


def run_forked(command: Any, *, input: bytes, timeout: float | None, **options: Any) -> Any:
    """In the place of subprocess.run: the same child, as a copy of this process and faster."""
    process = multiprocessing.get_context("fork").Process(target=_quiet_child, args=(input,))
    process.start()
    process.join()
    if process.exitcode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(command, timeout or CHILD_SECONDS)
    return subprocess.CompletedProcess(command, process.exitcode or 0)


def _quiet_child(task: bytes) -> None:
    let_it_run(CHILD_SECONDS)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    child.run(json.loads(task))


def read_mutant(name: str, content: bytes, read: Reader | None = None) -> str:
    """Whether a file is read or refused, by the reader of its format if no other is given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        if name.endswith(".hdr"):
            path.with_suffix(".img").write_bytes(np.arange(60, dtype="f4").tobytes())
        run = run_forked if hasattr(os, "fork") else subprocess.run
        try:
            with mock.patch.object(child.subprocess, "run", run):
                (read or FORMATS[name][1])(path.parent if "/" in name else path)
        except Exception as error:
            if not is_allowed(error):
                raise
            if str(path.name).partition(".")[0] not in str(error):
                raise AssertionError(f"the message does not name the file: {error}") from error
            short = str(error).isprintable() and len(str(error)) <= LONGEST_MESSAGE
            hold(short, f"not one short line: {error!s:.900}")
            return "refused"
    return "read"


def case(rng: Rng) -> str:
    """One damaged file of a random format."""
    name = sorted(FORMATS)[rng.integers(len(FORMATS))]
    return f"{name} {of_format(rng, name)}"


def of_format(rng: Rng, name: str) -> str:
    """One damaged file of this format."""
    return read_mutant(name, mutant(rng, name))


def variable(rng: Rng) -> str:
    """A struct, cells, text, complex or sparse numbers of a MATLAB file, or none, as anything."""
    names = ("M", "S", "record", "letters", "waves", "cells", "X", "t", "no", None)
    readers_of = (readers.read_matrix, readers.read_cube, readers.read_images, readers.read_graph)
    name = str(rng.choice(["new.mat", "m.mat"]))
    key, read = names[rng.integers(len(names))], readers_of[rng.integers(len(readers_of))]
    keyed = (name, good(name)) if rng.random() < 0.8 else (name, mutant(rng, name))
    return f"{read.__name__} {read_mutant(*keyed, lambda path: read(path, key=key))}"


def corpus(rng: Rng) -> str:
    """Good files, and all that once broke a reader; their names begin with that of the format."""
    for name in FORMATS:
        hold(read_mutant(name, good(name)) == "read", f"a good {name} is refused")
    for file in sorted(Path(__file__).with_name("corpus").iterdir()):
        outcome = read_mutant(file.name.partition("~")[0], file.read_bytes())
        hold(outcome == "refused", f"{file.name} was {outcome}")
    return "refused"
