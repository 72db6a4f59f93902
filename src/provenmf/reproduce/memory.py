"""Peak memory of a computation, measured in a process of its own."""

from __future__ import annotations

import math
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLEAR_REFS = Path("/proc/self/clear_refs")


def peak_megabytes(function: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Largest resident memory while `function(*arguments)` ran, and before it ran.

    The function must be importable; its process starts afresh, so that what the caller holds does
    not count. What Python and the libraries take is in both numbers.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure, (function, *arguments))


def _measure(function: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    before = high_water_mark()
    function(*arguments)
    return high_water_mark(), before


def high_water_mark(*, restart: bool = False) -> float:
    """Peak resident memory of this process in megabytes; Linux can start it again from now.

    NaN where the system does not tell, as on Windows.
    """
    if restart and CLEAR_REFS.exists():
        CLEAR_REFS.write_text("5")
    status = Path("/proc/self/status")
    if status.exists():  # getrusage also counts what the parent held before it started us
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    try:
        import resource
    except ModuleNotFoundError:
        return math.nan
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
