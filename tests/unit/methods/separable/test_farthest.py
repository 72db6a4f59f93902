"""A pool of rows changes how many passes are made, never which rows are chosen."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data.memory import MemoryBlocks
from provenmf.methods.cones.solver import cones
from provenmf.methods.separable import anchors as farthest
from provenmf.methods.separable.spa import fast_anchor, spa


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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", [spa, fast_anchor, cones])
@pytest.mark.parametrize("name", HARD)
def test_the_pool_and_the_blocks_decide_nothing(name, method, storage, monkeypatch):
    data = storage(HARD[name](np.random.default_rng(0)))
    for scale_rows in (False, True):
        if data.min() < 0 and (scale_rows or method is cones):
            continue
        options = {} if method is cones else {"scale_rows": scale_rows}
        k = min(7, *data.shape)
        plain = method(MemoryBlocks(data), k, **options).anchors.tolist()
        for pool_rows, block_rows in ((1, 90), (4, 1000), (512, 90)):
            monkeypatch.setattr(farthest, "POOL_ROWS", pool_rows)
            found = method(MemoryBlocks(data, block_rows=block_rows), k, **options)
            assert found.anchors.tolist() == plain


@pytest.mark.parametrize(("method", "most"), [(spa, 8), (fast_anchor, 12), (cones, 40)])
def test_mixtures_take_few_passes(method, most, monkeypatch):
    blocks = MemoryBlocks(mixtures(np.random.default_rng(0), 6000, 60, 30, 0.01), block_rows=500)
    read, sizes = blocks.read, []
    monkeypatch.setattr(blocks, "read", lambda a, b: sizes.append(b - a) or read(a, b))
    method(blocks, 30)
    assert sum(sizes) // 6000 <= most
