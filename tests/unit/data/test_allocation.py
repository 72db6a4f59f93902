"""Freed memory stays with a worker while its tasks run."""

import sys

import pytest

from provenmf.data import allocation
from provenmf.data.allocation import (
    DEFAULT_MMAP_THRESHOLD,
    KEPT,
    LARGEST,
    MMAP_THRESHOLD,
    TRIM_THRESHOLD,
    as_started,
)


@pytest.fixture
def settings(monkeypatch):
    """What the C library was told last."""
    told = {}
    monkeypatch.setattr(allocation, "mallopt_of_the_c_library", lambda: told.__setitem__)
    return told


def test_memory_is_kept_inside_and_the_setting_of_the_process_comes_back(settings):
    kept = as_started({"MALLOC_TRIM_THRESHOLD_": "65536"})
    with kept:
        with kept:
            pass
        assert settings == {TRIM_THRESHOLD: KEPT, MMAP_THRESHOLD: LARGEST}
    assert settings == {TRIM_THRESHOLD: 65536, MMAP_THRESHOLD: DEFAULT_MMAP_THRESHOLD}


def test_the_setting_comes_back_after_an_error(settings):
    kept = as_started({"MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": "4096"})
    with pytest.raises(ZeroDivisionError), kept:
        raise ZeroDivisionError
    assert settings == {TRIM_THRESHOLD: 65536, MMAP_THRESHOLD: 4096}


@pytest.mark.parametrize("value", [None, "", "many", "-1"])
def test_a_process_that_dask_did_not_start_is_left_alone(settings, value):
    kept = as_started({} if value is None else {"MALLOC_TRIM_THRESHOLD_": value})
    with kept:
        pass
    assert settings == {}


@pytest.mark.skipif(sys.platform != "linux", reason="only the C library of Linux has it")
def test_the_c_library_takes_the_numbers():
    mallopt = allocation.mallopt_of_the_c_library()
    if mallopt is None:
        pytest.skip("this C library has no mallopt")
    # What a worker would set; the C library answers 1 where it took a number.
    assert mallopt(TRIM_THRESHOLD, KEPT) == 1
    assert mallopt(MMAP_THRESHOLD, LARGEST) == 1
