"""A fit gives the same bytes everywhere: threads, forked and spawned processes, Dask workers."""

import pytest
import threads

pytestmark = pytest.mark.filterwarnings("ignore")  # few iterations, and they say so
FITS = threads.all_fits()


@pytest.fixture(scope="module")
def expected():
    return {one: threads.fit(*one) for one in FITS}


@pytest.mark.parametrize("name", threads.available())
def test_every_method_has_the_same_bits(name, expected):
    if name == "Dask worker":
        pytest.importorskip("distributed")
    counts = threads.differing(threads.WAYS[name], FITS, expected)
    assert not any(counts.values()), counts
