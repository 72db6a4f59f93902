"""How much a file may unfold to, and how to lift the limit.

A few kilobytes can declare or unpack to more than any machine has. Data that people really have
shrink by a factor of ten or so, so a file that unfolds to far more than its size is refused unless
the caller says that it is to be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from provenmf.errors import TooLarge

# A file may unfold to this many bytes, or to so many times its size if that is more.
FREE_BYTES = 256 * 2**20
LARGEST_RATIO = 200
# Names and counts are made for each row and column of a sparse matrix, stored entries or not.
FREE_LINES = 20_000_000

_lifted: ContextVar[bool] = ContextVar("provenmf_unlimited", default=False)


@contextmanager
def unlimited() -> Iterator[None]:
    """Read files that you trust whatever they unfold to.

    Examples
    --------
    >>> from provenmf.io import unlimited
    >>> with unlimited():
    ...     pass  # read_matrix("huge.npz")
    """
    token = _lifted.set(True)
    try:
        yield
    finally:
        _lifted.reset(token)


def lift() -> None:
    """Lift the limits for the rest of this program, or thread."""
    _lifted.set(True)


def is_unlimited() -> bool:
    """Whether the limits are lifted here."""
    return _lifted.get()


def allowed_bytes(path: Path) -> int | None:
    """How many bytes the file may unfold to; None if there is no limit."""
    return None if is_unlimited() else max(FREE_BYTES, LARGEST_RATIO * path.stat().st_size)


def check_unfolded(path: Path, size: int) -> None:
    """Refuse content of so many bytes if the file is too small for it."""
    allowed = allowed_bytes(path)
    if allowed is not None and size > allowed:
        raise too_large(path, f"unfolds to {size / 2**20:,.0f} MB or more")


def check_sparse_shape(path: Path, shape: tuple[int, ...], stored: int) -> None:
    """Refuse a sparse matrix with far more rows or columns than entries."""
    if not is_unlimited() and max(shape, default=0) > FREE_LINES + LARGEST_RATIO * stored:
        size = " x ".join(str(length) for length in shape)
        raise too_large(path, f"declares a {size} matrix with {stored} entries")


def too_large(path: Path, what: str) -> TooLarge:
    """The error for a file that goes beyond the limits."""
    return TooLarge(
        f"{path} {what}, which a file of {path.stat().st_size / 1000:,.0f} kB should not: if you "
        "trust it, read it inside provenmf.io.unlimited(), or with --no-limits"
    )
