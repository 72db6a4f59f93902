"""A damaged cache of compiled kernels is dropped and made again."""

import importlib
import os
import pkgutil
import subprocess
import sys

import numba
from numba.core.caching import CacheImpl

import provenmf
from provenmf.linalg.compiled import njit

MULTIPLY = """
import numpy as np
from provenmf.linalg.products import multiply_rows_in_place
out = np.zeros((1, 1))
index = np.zeros(1, dtype=np.int32)
pointers = np.array([0, 1], dtype=np.int32)
multiply_rows_in_place(pointers, index, np.full(1, 3.0), np.full((1, 1), 2.0), 0, 1, out)
stats = multiply_rows_in_place.stats
print(out[0, 0], sum(stats.cache_hits.values()))
"""


def multiply(folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", MULTIPLY], env=environment, capture_output=True, text=True
    )
    return ran.stdout.split(), ran.stderr


def cut(folder, ending):
    files = list(folder.rglob(f"*.{ending}"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_half_a_cache_is_dropped_and_made_again(tmp_path):
    assert multiply(tmp_path)[0] == ["6.0", "0"]
    for ending in ("nbc", "nbi"):  # code, then index
        cut(tmp_path, ending)
        found, errors = multiply(tmp_path)
        assert found == ["6.0", "0"], errors
    assert multiply(tmp_path)[0] == ["6.0", "1"]
    for file in tmp_path.rglob("*.nb?"):
        file.unlink()
        file.mkdir()  # not even an administrator writes a file there
    found, errors = multiply(tmp_path)
    assert found == ["6.0", "0"], errors


def test_without_any_folder_for_a_cache(monkeypatch):
    """A read-only container: neither beside the code nor at home can anything be written."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert njit(cache=True)(lambda x: x + 1)(2) == 3


def test_what_sums_in_any_order_is_inlined_or_called_from_python_alone() -> None:
    """Otherwise a process that compiles gives other bits than one that loads the cache."""
    found = set()
    for module in pkgutil.walk_packages(provenmf.__path__, "provenmf."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, numba.core.registry.CPUDispatcher):
                found.add(value.py_func)
    assert len(found) > 30
    for function in found:
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if isinstance(called, numba.core.registry.CPUDispatcher):
                options = called.targetoptions
                assert not options.get("fastmath") or (
                    options.get("forceinline") or options.get("inline") == "always"
                ), f"{function.__name__} calls {name}"
