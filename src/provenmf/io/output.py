"""Writing files with care: completely or not at all, and only where a file of ours may stand."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from provenmf.errors import InvalidInput


def check_target(path: Path, *inputs: Path | None) -> None:
    """Refuse to write over a folder, a device, a pipe or one of the files that are read."""
    try:
        nowhere = not path.resolve().parent.is_dir() and path.is_symlink()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name that is none
        raise InvalidInput(f"cannot write {str(path)!r:.200} ({error!s:.100}): name a file") from (
            error
        )
    if nowhere:
        raise InvalidInput(f"cannot write {path}: it is a link to nowhere; name a file")
    if path.is_dir():
        raise InvalidInput(f"cannot write {path}: it is a folder; name a file")
    if not path.parent.is_dir():
        raise InvalidInput(
            f"cannot write {path}: the folder {path.parent} does not exist; make it first"
        )
    if path.exists() and not path.is_file():
        raise InvalidInput(f"cannot write {path}: it is a device or a pipe; name a file")
    for source in inputs:
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise InvalidInput(f"cannot write {path}: it is an input; name another file")


def check_writable(path: Path, *inputs: Path | None) -> None:
    """Refuse an output that cannot be written, before any time is spent."""
    check_target(path, *inputs)
    try:
        descriptor, name = _open_neighbour(path.resolve())
        os.close(descriptor)
        os.unlink(name)
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
        descriptor, name = _open_neighbour(target)
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if target.exists():
            os.chmod(name, target.stat().st_mode & 0o7777)
        os.replace(name, target)
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        Path(name).unlink(missing_ok=True)


def _open_neighbour(target: Path) -> tuple[int, str]:
    """A new file beside the target; its name tells which process writes it."""
    name = target.parent / f".{target.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}.part"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return os.open(name, flags, 0o666), str(name)


def _remove_leftovers(target: Path) -> None:
    """Remove what a process that was killed while it wrote the same file has left behind."""
    start = f".{target.name[:100]}."
    for file in target.parent.iterdir():
        number = file.name.removeprefix(start).partition(".")[0]
        ours = file.name.startswith(start) and file.name.endswith(".part") and number.isdecimal()
        if ours and not _is_running(int(number)):
            file.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere a signal of number 0 would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _cannot(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"cannot write {path} ({error.strerror or error}): choose a folder with room that can be "
        "written to"
    )
