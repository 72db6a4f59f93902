"""numba's njit with a cache on disk that may fail harmlessly.

A process that is killed while it writes the cache, or a full disk, leaves half a file, on which
numba would fail in every later fit. Here a cache that cannot be read is dropped and made again, and
one that cannot be written is done without, even where no folder at all can be written to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from provenmf.errors import InvalidInput

try:
    import numba
except ValueError as error:  # it reads its settings when it is loaded
    raise InvalidInput(
        f"numba cannot be loaded ({error}): the environment variable NUMBA_NUM_THREADS is "
        f"{os.environ.get('NUMBA_NUM_THREADS')!r}; set it to 1 or more, or unset it"
    ) from error


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a kernel; the options are those of numba.njit.

    No kernel is passed to another as a value, so none needs the wrapper that this takes; without
    it, the first run compiles less.
    """
    options.setdefault("no_cfunc_wrapper", True)

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = numba.njit(**options)(function)
        except RuntimeError:  # no folder for the cache: neither beside the code nor at home
            dispatcher = numba.njit(**{**options, "cache": False})(function)
        cache: Any = getattr(dispatcher, "_cache", None)
        if hasattr(cache, "load_overload") and hasattr(cache, "save_overload"):
            cache.load_overload = _dropping(cache, cache.load_overload)
            cache.save_overload = _forgiving(cache.save_overload)
        return dispatcher

    return decorate


# Called, with nothing, when a kernel is about to be compiled because no cache has it.
on_compilation: list[Callable[[], None]] = []


def _dropping(cache: Any, load: Callable[..., Any]) -> Callable[..., Any]:
    def load_or_drop(*arguments: Any) -> Any:
        found = None
        try:
            found = load(*arguments)
        except Exception:  # a truncated pickle raises many kinds of errors
            with contextlib.suppress(OSError):
                cache.flush()
        if found is None:
            for tell in on_compilation:
                tell()
        return found

    return load_or_drop


def _forgiving(save: Callable[..., Any]) -> Callable[..., Any]:
    def save_if_possible(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            save(*arguments)

    return save_if_possible


def inner_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function callable only from other kernels.

    Without a wrapper for Python and a separate cache, the first run compiles less: it is cached
    with its callers. It is always inlined: otherwise the optimizer decides, differently where
    the caller is compiled than where it is loaded, and sums in any order then differ in bits.
    """
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    if options.get("inline") != "always":
        options["forceinline"] = True
    decorate: Callable[[Callable[..., Any]], Any] = numba.njit(**options)
    return decorate
