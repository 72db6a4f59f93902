"""Opening files with care: regular files only, what they really hold, text decoded or named."""

from __future__ import annotations

import codecs
import collections
import gzip
import io
import lzma
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provenmf.errors import ProvenmfError, UnreadableFile
from provenmf.io.limits import check_unfolded, is_unlimited, too_large

STEP_BYTES = 2**24

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
    """The path, if it is a file or a folder; UnreadableFile otherwise.

    A pipe would make us wait for ever, a device might do anything.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise UnreadableFile(f"{path} does not exist: check the path") from error
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path!s:.200} cannot be read ({error}): check the path") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UnreadableFile(f"{path} is a pipe, socket or device: copy its content to a file")
    return path


@contextmanager
def parsing(path: Path, what: str, remedy: str = "save it again") -> Iterator[None]:
    """Whatever a library's parser raises on foreign bytes becomes one error that names the file."""
    try:
        yield
    except ProvenmfError:
        raise
    except MemoryError as error:
        raise too_large(path, "asks for more memory than there is") from error
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UnreadableFile(
            f"{path} is not a readable {what} ({words}): it may be damaged, {remedy}"
        ) from error


def without_compression(path: Path) -> str:
    """The ending that says what is inside: `.jsonl` for `texts.jsonl.xz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def check_format(path: Path) -> None:
    """Refuse an empty file, and one whose first bytes contradict its name."""
    try:
        with open(existing(path), "rb") as file:
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


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Lines of a text file, also compressed by gzip or xz."""
    return lines_of(decoded(path, read_bytes(path), encoding))


def lines_of(text: str) -> list[str]:
    """Lines between line feeds; str.splitlines also cuts at form feeds and the like in a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def read_bytes(path: Path) -> bytes:
    """Content of a file, uncompressed if its name ends in `.gz` or `.xz`."""
    check_format(path)
    with parsing(path, "file"):
        ending = path.suffix.lower()
        if ending not in (".gz", ".xz"):
            return path.read_bytes()
        with gzip.open(path) if ending == ".gz" else lzma.open(path) as file:
            return b"".join(_parts_within_limits(path, file))


def _parts_within_limits(path: Path, packed: gzip.GzipFile | lzma.LZMAFile) -> Iterator[bytes]:
    """What a packed file holds, step by step, so that a bomb is noticed early."""
    size = 0
    while part := packed.read(STEP_BYTES):
        size += len(part)
        check_unfolded(path, size)
        yield part


def stream_lines(path: Path, encoding: str = "utf-8", *, ends: bool = False) -> Iterator[str]:
    """Lines of a text file, also compressed by gzip or xz, read as they are asked for.

    With `ends` they keep their line ends, as the csv module wants them.
    """
    with open_stream(path) as file:
        _check_text(path, file.peek(4096)[:4096], encoding)
        _check_encoding(encoding)
        lines = io.TextIOWrapper(file, encoding, newline="" if ends else None)
        try:
            for line in lines:
                yield line if ends else line.removesuffix("\n")
        except UnicodeDecodeError as error:
            raise _undecodable(path, encoding) from error


@contextmanager
def open_stream(path: Path) -> Iterator[Any]:
    """The bytes of a file, uncompressed if its name ends in `.gz` or `.xz`, within the limits."""
    check_format(path)
    ending = path.suffix.lower()
    with parsing(path, "file"):
        packed: Any = {".gz": gzip.open, ".xz": lzma.open}.get(ending)
        if packed is None:
            with open(path, "rb") as plain:
                yield plain
            return
        with packed(path) as inner:
            if not is_unlimited():  # all of it first: parsing a bomb would take far longer
                collections.deque(_parts_within_limits(path, inner), maxlen=0)
                inner.seek(0)
            with io.BufferedReader(inner, 2**20) as file:
                yield file


def decoded(path: Path, content: bytes, encoding: str) -> str:
    """Text from bytes, or an error that says whether the file is binary or another encoding."""
    _check_text(path, content[:4096], encoding)
    _check_encoding(encoding)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise _other_encoding(path, encoding, error.start, content[error.start]) from error


def _check_text(path: Path, start: bytes, encoding: str) -> None:
    """Refuse a binary file by its first bytes."""
    if b"\x00" in start and not encoding.lower().startswith("utf-16"):
        raise UnreadableFile(f"{path} is a binary file, not text", remedy="give a text file")


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise UnreadableFile(
            "is unknown",
            argument="encoding",
            value=encoding,
            remedy="use one such as utf-8 or latin-1",
        ) from error


def _undecodable(path: Path, encoding: str) -> UnreadableFile:
    """The error for a file that is in another encoding; finds the place by reading it again."""
    decoder, before, byte = codecs.getincrementaldecoder(encoding)(), 0, 0
    with open_stream(path) as file:
        part = b"-"
        while part:
            part = file.read(STEP_BYTES)
            kept = len(decoder.getstate()[0])
            try:
                decoder.decode(part, final=not part)
            except UnicodeDecodeError as error:
                before, byte = before - kept + error.start, error.object[error.start]
                break
            before += len(part)
    return _other_encoding(path, encoding, before, byte)


def _other_encoding(path: Path, encoding: str, place: int, byte: int) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is not {encoding} (byte {place} is {byte:#04x})",
        argument="encoding",
        remedy="give its encoding, for example {argument='latin-1'}",
    )
