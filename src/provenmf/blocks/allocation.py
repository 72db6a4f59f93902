"""Freed memory stays with a Dask worker as long as one of our tasks runs there.

Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, so that they give freed memory back to the
system. It has a side effect: every array of more than 128 kB then gets pages of its own, which the
system clears first and takes back at once. Temporary arrays of a task come and go by the hundred;
handling their pages took a third of a worker's time. The C library is told to keep freed memory
while a task runs, and to go back to what the worker was started with afterwards.
"""

from __future__ import annotations

import ctypes
import os
from threading import Lock
from typing import Any

# Parameters of mallopt(3).
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
# Arrays up to this size share the memory that is kept; the C library takes no larger number.
LARGEST = 1 << 25
# Freed memory at the end of the heap that is kept.
KEPT = 1 << 27
# What the C library does where nobody says anything.
DEFAULT_MMAP_THRESHOLD = 1 << 17


class KeptMemory:
    """A context in which freed memory is kept. The setting belongs to the process, so the last
    thread to leave takes it back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        trimmed = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
        mapped = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
        # Where nobody set it, the C library finds good sizes by itself.
        self._set: Any = _mallopt() if trimmed.isdecimal() else None
        self._before = (
            int(trimmed) if trimmed.isdecimal() else 0,
            int(mapped) if mapped.isdecimal() else DEFAULT_MMAP_THRESHOLD,
        )

    def __enter__(self) -> None:
        if self._set is not None:
            with self._lock:
                self._inside += 1
                if self._inside == 1:
                    self._set_both(KEPT, LARGEST)

    def __exit__(self, *error: object) -> None:
        if self._set is not None:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._set_both(*self._before)

    def _set_both(self, trim: int, mmap: int) -> None:
        self._set(TRIM_THRESHOLD, trim)
        self._set(MMAP_THRESHOLD, mmap)


def _mallopt() -> Any:
    """The function of the C library; None where it has none, as on macOS and Windows."""
    try:
        return ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return None


kept_memory = KeptMemory()
