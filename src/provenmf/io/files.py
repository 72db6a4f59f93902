"""Opening files with care: what they really hold, pickles refused, text decoded or named."""

from __future__ import annotations

import gzip
import importlib
import lzma
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import MissingExtra, UnreadableFile

# First bytes of the formats people mix up, and the endings under which they are expected.
SIGNATURES: tuple[tuple[bytes, str, frozenset[str]], ...] = (
    (b"PK\x03\x04", "a zip archive", frozenset({".npz", ".zip"})),
    (b"\x93NUMPY", "a NumPy array", frozenset({".npy"})),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", frozenset({".h5ad", ".h5", ".hdf5", ".mat"})),
    (b"PAR1", "a Parquet table", frozenset({".parquet"})),
    (b"\x1f\x8b", "gzip data", frozenset({".gz"})),
    (b"\xfd7zXZ\x00", "xz data", frozenset({".xz"})),
    (b"%%MatrixMarket", "a Matrix Market file", frozenset({".mtx"})),
    (b"MATLAB ", "a MATLAB file", frozenset({".mat"})),
    (b"\x89PNG", "a PNG image", frozenset({".png"})),
    (b"\xff\xd8\xff", "a JPEG image", frozenset({".jpg", ".jpeg"})),
    (b"%PDF", "a PDF document", frozenset({".pdf"})),
    (b"\x7fELF", "a program", frozenset()),
)
SIGNED_ENDINGS = frozenset({".npz", ".npy", ".h5ad", ".parquet", ".gz", ".xz", ".mtx", ".mat"})


def existing(path: str | Path) -> Path:
    """The path, if there is something; UnreadableFile otherwise."""
    path = Path(path)
    if not path.exists():
        raise UnreadableFile(f"{path} does not exist: check the path")
    return path


def without_compression(path: Path) -> str:
    """The ending that says what is inside: `.jsonl` for `texts.jsonl.xz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def check_format(path: Path) -> None:
    """Refuse an empty file, and one whose first bytes contradict its name."""
    try:
        with open(path, "rb") as file:
            start = file.read(16)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error.strerror}): check it") from error
    if not start:
        raise UnreadableFile(f"{path} is empty: give a file with data")
    ending = path.suffix.lower()
    for signature, meaning, endings in SIGNATURES:
        if start.startswith(signature):
            if ending not in endings:
                raise UnreadableFile(
                    f"{path} is named {ending or 'without an ending'} but holds {meaning}: "
                    "give the right file or rename it"
                )
            return
    if ending in SIGNED_ENDINGS:
        raise UnreadableFile(f"{path} is not a {ending} file although its name says so: check it")


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an `.npz` file; a pickle in it is refused, never run."""
    check_format(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except ValueError as error:
        raise _refused_or_damaged(path, error) from error
    except (zipfile.BadZipFile, EOFError, OSError, KeyError) as error:
        raise UnreadableFile(f"{path} is damaged ({error}): save it again") from error


def read_npy(path: Path) -> NDArray[Any]:
    """The array of an `.npy` file; a pickle is refused, never run."""
    check_format(path)
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise _refused_or_damaged(path, error) from error
    except (EOFError, OSError) as error:
        raise UnreadableFile(f"{path} is damaged ({error}): save it again") from error


def _refused_or_damaged(path: Path, error: ValueError) -> UnreadableFile:
    if "pickle" in str(error) or "Object arrays" in str(error):
        return UnreadableFile(
            f"{path} holds pickled Python objects, which could run code, and is refused: "
            "save plain number or text arrays instead"
        )
    return UnreadableFile(f"{path} is damaged ({error}): save it again")


def sparse_from_arrays(arrays: dict[str, NDArray[Any]]) -> Any:
    """The matrix that scipy.sparse.save_npz wrote, or None if these are other arrays."""
    if "format" not in arrays or "shape" not in arrays:
        return None
    kind = arrays["format"].item()
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(size) for size in arrays["shape"])
    if kind in ("csr", "csc", "bsr"):
        build = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[kind]
        matrix = build((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    elif kind == "coo":
        matrix = sp.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
    elif kind == "dia":
        matrix = sp.dia_array((arrays["data"], arrays["offsets"]), shape=shape)
    else:
        return None
    matrix = sp.csr_array(matrix)
    matrix.check_format(full_check=True)
    return matrix


def read_mat(path: Path) -> dict[str, Any]:
    """Variables of a MATLAB file, also of version 7.3 (HDF5)."""
    check_format(path)
    try:
        import scipy.io

        return {
            name: value
            for name, value in scipy.io.loadmat(path, squeeze_me=False).items()
            if not name.startswith("__")
        }
    except NotImplementedError:  # version 7.3
        h5py = optional("h5py", "reading a MATLAB 7.3 file", "files")
        with h5py.File(path, "r") as file:
            # MATLAB stores columns first; HDF5 shows the axes in reverse.
            return {n: v[()].T for n, v in file.items() if isinstance(v, h5py.Dataset)}
    except Exception as error:  # the parser meets arbitrary bytes and fails in many ways
        raise UnreadableFile(f"{path} is not a readable MATLAB file ({error})") from error


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Lines of a text file, also compressed by gzip or xz."""
    return lines_of(decoded(path, read_bytes(path), encoding))


def lines_of(text: str) -> list[str]:
    """Lines between line feeds; str.splitlines also cuts at form feeds and the like in a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def read_bytes(path: Path) -> bytes:
    """Content of a file, uncompressed if its name ends in `.gz` or `.xz`."""
    check_format(path)
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path) as file:
                return file.read()
        if path.suffix.lower() == ".xz":
            with lzma.open(path) as packed:
                return packed.read()
        return path.read_bytes()
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise UnreadableFile(f"{path} is damaged or cannot be read ({error}): check it") from error


def decoded(path: Path, content: bytes, encoding: str) -> str:
    """Text from bytes, or an error that says whether the file is binary or another encoding."""
    if b"\x00" in content[:4096] and not encoding.lower().startswith("utf-16"):
        raise UnreadableFile(
            f"{path} is a binary file, not text",
            argument="skip_unreadable",
            remedy="take it out of the corpus, or skip such files of a folder with {argument=True}",
        )
    try:
        return content.decode(encoding)
    except LookupError as error:
        raise UnreadableFile(
            "is unknown",
            argument="encoding",
            value=encoding,
            remedy="use one such as utf-8 or latin-1",
        ) from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{path} is not {encoding} (byte {error.start} is {content[error.start]:#04x})",
            argument="encoding",
            remedy="give its encoding, for example {argument='latin-1'}",
        ) from error


def optional(module: str, purpose: str, extra: str) -> Any:
    """Import a module that is not always installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(purpose, extra) from error
