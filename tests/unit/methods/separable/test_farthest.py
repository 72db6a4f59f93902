"""Guessing ahead changes how many passes are made, never which rows are chosen."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data.memory import MemoryBlocks
from provenmf.methods.separable import anchors
from provenmf.methods.separable.spa import fast_anchor, spa


class SlowBlocks(MemoryBlocks):
    """Rows in memory that count as being elsewhere; `passes` counts how often all are read."""

    in_memory = False
    rows_read = 0

    def read(self, start, stop):
        self.rows_read += stop - start
        return super().read(start, stop)

    @property
    def passes(self):
        return self.rows_read // self.n_rows


def mixtures(rng, n, d, k, noise):
    weights = rng.dirichlet(np.full(k, 0.1), n)
    return np.maximum(weights @ rng.random((k, d)) + noise * rng.standard_normal((n, d)), 0)


def repeated(rng):
    rows = rng.random((40, 12))
    return rows[rng.integers(0, 40, 600)]


def outliers(rng):
    rows = rng.random((500, 20))
    rows[rng.integers(0, 500, 9)] *= 1e6
    return rows


HARD = {
    "mixtures": lambda rng: mixtures(rng, 800, 30, 12, 0.02),
    "exact": lambda rng: mixtures(rng, 800, 30, 12, 0.0),
    "uniform": lambda rng: rng.random((700, 25)),
    "normal": lambda rng: rng.standard_normal((700, 25)),
    "repeated rows": repeated,
    "outliers": outliers,
    "scales": lambda rng: rng.random((400, 20)) * 10.0 ** rng.integers(-9, 9, (400, 1)),
    "units": lambda rng: np.eye(15)[rng.integers(0, 15, 300)],
    "sorted": lambda rng: np.sort(rng.random((500, 16)), axis=0),
    "single": lambda rng: mixtures(rng, 500, 20, 8, 0.05).astype(np.float32),
    "with zeros": lambda rng: mixtures(rng, 500, 20, 8, 0.05) * (rng.random((500, 1)) < 0.5),
    "one column": lambda rng: rng.random((50, 1)),
    "two rows": lambda rng: rng.random((2, 5)),
}


def solved(method, blocks, k, **options):
    return method(blocks, min(k, *blocks.shape), **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", [spa, fast_anchor])
@pytest.mark.parametrize("name", HARD)
def test_the_same_rows_are_chosen_with_and_without_guesses(name, method, storage):
    data = storage(HARD[name](np.random.default_rng(0)))
    for scale_rows in (False, True):
        if scale_rows and data.min() < 0:
            continue
        alone = solved(method, MemoryBlocks(data), 7, scale_rows=scale_rows)
        for block_rows in (90, 1000):
            blocks = SlowBlocks(data, block_rows=block_rows)
            ahead = solved(method, blocks, 7, scale_rows=scale_rows)
            assert ahead.anchors.tolist() == alone.anchors.tolist()
            assert ahead.state.drop == pytest.approx(alone.state.drop, nan_ok=True)


@pytest.mark.parametrize("method", [spa, fast_anchor])
def test_mixtures_take_few_passes(method):
    data = mixtures(np.random.default_rng(0), 6000, 60, 30, 0.01)
    blocks = SlowBlocks(data, block_rows=500)
    method(blocks, 30)
    assert blocks.passes <= 8


@pytest.mark.parametrize("room", [1, 2, 5])
@pytest.mark.parametrize("method", [spa, fast_anchor])
def test_little_room_for_fetched_rows_is_enough(method, room, monkeypatch):
    data = mixtures(np.random.default_rng(1), 600, 30, 8, 0.02)
    alone = method(MemoryBlocks(data), 8)
    monkeypatch.setattr(anchors, "FETCHED_BYTES", 8.0 * 30 * 6 * room)
    blocks = SlowBlocks(data, block_rows=100)
    assert method(blocks, 8).anchors.tolist() == alone.anchors.tolist()
    assert blocks.passes <= (9 if method is spa else 18)
    assert room > 1 or blocks.passes >= 9  # nothing is guessed
