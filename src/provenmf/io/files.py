"""Open, check and write files within limits.

A file must be a regular one and not unfold to far more than its size: a few kilobytes can declare
or unpack to more than any machine has, while real data shrink by a factor of ten or so. Whatever a
library's parser raises on foreign bytes becomes one error that names the file. A file is written
completely or not at all, and only where a file of ours may stand.
"""

from __future__ import annotations

import codecs
import collections
import glob
import gzip
import io
import lzma
import os
import secrets
import signal
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from provenmf.errors import InvalidInput, ProvenmfError, TooLarge, UnreadableFile
from provenmf.signals import HANDLED, handling, set_inside

# A file may unfold to this many bytes, or to LARGEST_RATIO times its size if that is more.
FREE_BYTES = 256 * 2**20
LARGEST_RATIO = 200
# Names and counts are made for each row and column of a sparse matrix, stored entries or not.
FREE_LINES = 20_000_000
STEP_BYTES = 2**24
ABANDONED_SECONDS = 3600
PACKED = {".gz": gzip.open, ".xz": lzma.open}

_lifted: ContextVar[bool] = ContextVar("provenmf_unlimited", default=False)


@contextmanager
def unlimited() -> Iterator[None]:
    """Lift the limits on file contents inside the context.

    Examples
    --------
    >>> from provenmf.io import unlimited
    >>> with unlimited():
    ...     pass  # read_matrix("huge.npz")
    """
    with set_inside(_lifted, True):
        yield


def allowed_bytes(path: Path) -> int | None:
    """Return the limit on the unpacked size of a file, None inside `unlimited`."""
    return None if _lifted.get() else max(FREE_BYTES, LARGEST_RATIO * path.stat().st_size)


def check_unfolded(path: Path, size: int) -> None:
    """Refuse content of `size` bytes if the file is too small for it."""
    allowed = allowed_bytes(path)
    if allowed is not None and size > allowed:
        raise too_large(path, f"unfolds to {size / 2**20:,.0f} MB or more")


def check_sparse_shape(path: Path, shape: tuple[int, ...], stored: int) -> None:
    """Refuse a sparse matrix with far more rows or columns than entries."""
    if not _lifted.get() and max(shape, default=0) > FREE_LINES + LARGEST_RATIO * stored:
        size = " x ".join(str(length) for length in shape)
        raise too_large(path, f"declares a {size} matrix with {stored} entries")


def too_large(path: Path, what: str) -> TooLarge:
    """Return the error for a file that goes beyond the limits."""
    return TooLarge(
        f"{path} {what}, which a file of {path.stat().st_size / 1000:,.0f} kB should not: if you "
        "trust it, read it in Python inside provenmf.io.unlimited()"
    )


def existing(path: str | Path) -> Path:
    """Return the path if it is a file or a folder, and raise UnreadableFile otherwise.

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
    """Turn any error of a parser into UnreadableFile, which names the file."""
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
    """Return the suffix without compression: `.jsonl` for `texts.jsonl.xz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def check_result(path: Path) -> Path:
    """Return the path of a saved result; refuse anything else by what it holds."""
    path, remedy = existing(path), "give the .npz file that a command or `save` wrote"
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder: give the file of a result")
    with parsing(path, "provenmf result", remedy):
        if not zipfile.is_zipfile(path) or "record.npy" not in zipfile.ZipFile(path).namelist():
            raise UnreadableFile(f"{path} is not a provenmf result: {remedy}")
    return path


@contextmanager
def open_safely(path: Path) -> Iterator[Any]:
    """Open the bytes of a file, uncompressed if its name ends in `.gz` or `.xz`, within limits."""
    unpack: Any = PACKED.get(path.suffix.lower())
    with parsing(path, "file"):
        if unpack is None:
            with open(path, "rb") as plain:
                yield plain
            return
        with unpack(path) as inner:
            if not _lifted.get():  # all of it first: parsing a bomb would take far longer
                collections.deque(_parts_within_limits(path, inner), maxlen=0)
                inner.seek(0)
            with io.BufferedReader(inner, 2**20) as file:
                yield file


def _parts_within_limits(path: Path, packed: Any) -> Iterator[bytes]:
    """Unpack a file step by step, so that a bomb is noticed early."""
    size = 0
    while part := packed.read(STEP_BYTES):
        size += len(part)
        check_unfolded(path, size)
        yield part


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, uncompressed if its name ends in `.gz` or `.xz`."""
    with open_safely(path) as file:
        content: bytes = file.read()
        return content


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file, also compressed, or say whether it is binary or not so encoded."""
    content = read_bytes(path)
    _check_text(path, content[:4096], encoding)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise _other_encoding(path, encoding, error) from error


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a text file, also compressed."""
    return list(stream_lines(path, encoding))


def stream_lines(path: Path, encoding: str = "utf-8", *, ends: bool = False) -> Iterator[str]:
    """Yield the lines of a text file, also compressed, read as they are asked for.

    Only line ends cut: str.splitlines would also cut at form feeds and the like inside a line.
    With `ends` they keep their line ends, as the csv module wants them.
    """
    with open_safely(path) as file:
        _check_text(path, file.peek(4096)[:4096], encoding)
        lines = io.TextIOWrapper(file, encoding, newline="" if ends else None)
        try:
            for line in lines:
                yield line if ends else line.removesuffix("\n")
        except UnicodeDecodeError as error:
            raise _other_encoding(path, encoding, error) from error


def _check_text(path: Path, start: bytes, encoding: str) -> None:
    """Refuse an unknown encoding, and a binary file by its first bytes."""
    try:
        codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise UnreadableFile(
            "is unknown",
            argument="encoding",
            value=encoding,
            remedy="use one such as utf-8 or latin-1",
        ) from error
    if b"\x00" in start and not encoding.lower().startswith("utf-16"):
        raise UnreadableFile(f"{path} is a binary file, not text", remedy="give a text file")


def _other_encoding(path: Path, encoding: str, error: UnicodeDecodeError) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is not {encoding} (it holds the byte {error.object[error.start]:#04x})",
        argument="encoding",
        remedy="give its encoding, for example {argument='latin-1'}",
    )


# Writing.


def check_target(path: Path, *inputs: Path | None) -> None:
    """Refuse to write over a folder, a device, a pipe or one of the files that are read."""
    try:
        exists, folder_exists = path.exists(), path.resolve().parent.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links or an invalid name
        words = f"cannot write {str(path)!r:.200} ({error!s:.100}): name a file"
        raise InvalidInput(words) from error
    read = exists and any(s is not None and s.exists() and path.samefile(s) for s in inputs)
    for is_wrong, problem in (
        (exists and not path.is_file(), "it is a folder, a device or a pipe; name a file"),
        (not folder_exists, "its folder does not exist; make it first"),
        (read, "it is an input; name another file"),
    ):
        if is_wrong:
            raise InvalidInput(f"cannot write {path}: {problem}")


def check_writable(path: Path, *inputs: Path | None) -> None:
    """Refuse an output that cannot be written, before any time is spent."""
    check_target(path, *inputs)
    try:
        with _neighbour(path.resolve()):
            pass
    except OSError as error:
        raise _cannot(path, error) from error


def write_aside(
    path: str | Path, write: Callable[[IO[bytes]], Any], *, durable: bool = False
) -> None:
    """Write a file completely or not at all: to a neighbour first, then rename.

    A symbolic link is followed, an existing file keeps its mode, and a new one gets what the
    process's umask leaves. With `durable` the bytes are on the disk before the name is, so that
    not even a power failure leaves half a file.
    """
    path = Path(path)
    check_target(path)
    target = path.resolve()
    _remove_leftovers(target)
    try:
        with _neighbour(target) as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
            file.close()
            if target.exists():
                os.chmod(file.name, target.stat().st_mode & 0o7777)
            os.replace(file.name, target)
    except OSError as error:
        raise _cannot(path, error) from error


@contextmanager
def _neighbour(target: Path) -> Iterator[IO[bytes]]:
    """Open a new file beside the target, which is removed at the end if it still has its name.

    Also if SIGTERM or SIGHUP ends the process meanwhile, where these end it.
    """
    name = target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}.part"

    def end(number: int, _: object) -> None:
        name.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    with handling(end, HANDLED[1:], signal.SIG_DFL):
        try:
            with open(name, "xb") as file:
                yield file
        finally:
            name.unlink(missing_ok=True)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files that were last written an hour ago: their process was killed."""
    for file in target.parent.glob(f".{glob.escape(target.name[:100])}.*.part"):
        with suppress(OSError):  # another process may have removed it
            if time.time() - file.stat().st_mtime > ABANDONED_SECONDS:
                file.unlink()


def _cannot(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"cannot write {path} ({error.strerror or error}): choose a folder with room that can be "
        "written to"
    )
