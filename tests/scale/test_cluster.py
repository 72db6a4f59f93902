"""The same passes on a real Dask cluster of two processes on this machine."""

import numpy as np
import pytest

from provenmf.blocks import as_blocks

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_passes_on_a_cluster_equal_passes_in_memory(client):
    matrix = np.random.default_rng(0).random((200, 8))
    near, far = as_blocks(matrix, block_rows=30), as_blocks(da.from_array(matrix, chunks=(30, 3)))
    state = np.arange(200.0)
    sums = [blocks.map_reduce(lambda b, s: (b.T @ b, b.T @ s), state) for blocks in (near, far)]
    for a, b in zip(*sums):
        np.testing.assert_array_equal(a, b)
    assert near.arg_reduce(lambda b: b[:, 0]) == far.arg_reduce(lambda b: b[:, 0])
    np.testing.assert_array_equal(far.take(np.array([150, 3])), matrix[[150, 3]])
