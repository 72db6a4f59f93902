"""Applications hold their data: a Dask array is brought here with a word, or refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import InvalidInput, TooLarge, find_parts, find_topics, unmix
from provenmf.datasets.corpora import topic_corpus

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


@pytest.fixture
def announced(monkeypatch):
    monkeypatch.setattr("provenmf.estimators.memory.HINT", 100.0)


@pytest.mark.filterwarnings("ignore:.*topic")
def test_topics_of_counts_in_chunks(announced):
    counts = topic_corpus(400, 60, 3, random_state=0).counts
    rows = da.from_array(counts.toarray(), chunks=(150, 60))
    rows = rows.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        with pytest.warns(RuntimeWarning, match="find_topics brings X .* into memory"):
            far = find_topics(rows, 3, random_state=0, certify=False)
    near = find_topics(counts, 3, random_state=0, certify=False)
    np.testing.assert_allclose(far.topics, near.topics, atol=1e-12)


def test_refusals(announced, monkeypatch):
    rows = da.ones((50, 20), chunks=(10, 20))
    with pytest.raises(InvalidInput, match="unmix was given a Dask collection of 3 axes"):
        unmix(rows.reshape(5, 10, 20), 3)
    monkeypatch.setattr("provenmf.estimators.memory.MOST_GATHERED", 1000.0)
    for application in (unmix, find_parts, find_topics):
        with pytest.raises(TooLarge, match="GB at once for X of shape"):
            application(rows, 3)
