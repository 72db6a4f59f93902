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
from collections.abc import Callable, Mapping
from threading import Lock

# Parameters of mallopt(3).
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
# Arrays up to this size share the memory that is kept; the C library takes no larger number.
LARGEST = 1 << 25
# Freed memory at the end of the heap that is kept.
KEPT = 1 << 27
# What the C library does where nobody says anything.
DEFAULT_MMAP_THRESHOLD = 1 << 17


class KeptMemory:
    """A context in which freed memory is kept.

    The setting belongs to the process: the last thread to leave takes it back.

    Parameters
    ----------
    mallopt : the function of the C library, or None to leave everything as it is.
    trim, mmap : what the process was started with.
    """

    def __init__(self, mallopt: Callable[[int, int], object] | None, trim: int, mmap: int) -> None:
        self._mallopt, self._before = mallopt, (trim, mmap)
        self._lock, self._inside = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._set(KEPT, LARGEST)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set(*self._before)

    def _set(self, trim: int, mmap: int) -> None:
        if self._mallopt is not None:
            self._mallopt(TRIM_THRESHOLD, trim)
            self._mallopt(MMAP_THRESHOLD, mmap)


def as_started(environment: Mapping[str, str]) -> KeptMemory:
    """For a process with these variables; where none is set, the C library finds good sizes."""
    trim, mmap = (environment.get(f"MALLOC_{name}_THRESHOLD_", "") for name in ("TRIM", "MMAP"))
    return KeptMemory(
        mallopt_of_the_c_library() if trim.isdecimal() else None,
        int(trim) if trim.isdecimal() else 0,
        int(mmap) if mmap.isdecimal() else DEFAULT_MMAP_THRESHOLD,
    )


def mallopt_of_the_c_library() -> Callable[[int, int], object] | None:
    """None where there is no such function, as on macOS and Windows."""
    try:
        found: Callable[[int, int], object] = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return None
    return found


kept_memory = as_started(os.environ)
