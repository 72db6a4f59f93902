"""Some applications hold their data: a Dask array is brought here with a word, or refused."""

import pytest

from provenmf import InvalidInput, find_parts, unmix
from provenmf.errors import TooLarge

da = pytest.importorskip("dask.array")


@pytest.fixture
def announced(monkeypatch):
    monkeypatch.setattr("provenmf.budget.HINT", 100.0)


def test_refusals(announced, monkeypatch):
    rows = da.ones((50, 20), chunks=(10, 20))
    with pytest.raises(InvalidInput, match="unmix was given a Dask collection of 3 axes"):
        unmix(rows.reshape(5, 10, 20), 3)
    monkeypatch.setattr("provenmf.budget.MOST_GATHERED", 1000.0)
    for application in (unmix, find_parts):
        with pytest.raises(TooLarge, match="GB at once for X of shape"):
            application(rows, 3)
