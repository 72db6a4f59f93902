"""Mixtures as dense arrays, and other settings for a test."""

from dataclasses import replace

import numpy as np
import pytest

from provenmf.methods.merit import settings


@pytest.fixture
def set_merit(monkeypatch):
    """Change settings of MERIT for one test."""

    def change(**changed):
        monkeypatch.setattr(settings, "SETTINGS", replace(settings.SETTINGS, **changed))

    return change


@pytest.fixture(autouse=True)
def sparse_rows_stay_sparse(set_merit):
    """Also those of tests, which have few zeros."""
    set_merit(dense_share=1.0)


@pytest.fixture
def dense():
    """C over the dictionary as an array, from a Mixture or MixedRows."""

    def array(mixture):
        rows = []
        parts = [mixture.pairs()] if callable(mixture.pairs) else mixture.pairs.each(lambda p: p)
        for index, value, count, _ in parts:
            for stop, number in zip(np.cumsum(count), count):
                rows.append(np.zeros(mixture.atoms.shape[0]))
                rows[-1][index[stop - number : stop]] = value[stop - number : stop]
        return np.array(rows)

    return array
