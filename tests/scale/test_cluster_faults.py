"""What a Dask cluster loses or gains in the middle of a fit, and chunks that are not in order."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA, Checkpoint
from provenmf.errors import ClusterLost

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from provenmf.data.dask import aligned  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*max_iter")


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def data():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(3), 60) @ rng.random((3, 10)) + 0.01 * rng.random((60, 10))


def hals(callback=None):
    return HALS(3, init="spa", tol=0, max_iter=6, callback=callback, certify=False)


def at_iteration(number, event):
    """A callback that lets the event happen once."""
    rows = []

    def callback(row):
        rows.append(row)
        if len(rows) == number:
            event()

    return callback


def test_a_worker_that_leaves_and_one_that_joins_change_no_bit(cluster, client):
    X = da.from_array(data(), chunks=(8, 10))
    plain = hals().fit(X)
    fewer = hals(at_iteration(2, lambda: cluster.scale(1))).fit(X)
    more = hals(at_iteration(2, lambda: cluster.scale(3))).fit(X)
    for found in (fewer, more):
        np.testing.assert_array_equal(found.components_, plain.components_)
        np.testing.assert_array_equal(found.factorization_.weights, plain.factorization_.weights)


def unaligned(array):
    """A copy whose numbers begin in the middle of one, as after a message between workers."""
    buffer = np.zeros(array.nbytes + 4, dtype=np.uint8)
    moved = buffer[4:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def test_what_came_from_another_worker_is_aligned_again():
    X = unaligned(data())
    rows = sp.csr_array(data())
    rows.data = unaligned(rows.data)
    assert not X.flags.aligned and not rows.data.flags.aligned
    for value in (X, rows, (X, rows)):
        found = aligned(value)
        for each, given in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, value))):
            assert (each if isinstance(each, np.ndarray) else each.data).flags.aligned
            assert (each != given).sum() == 0


def test_chunks_that_nobody_can_make_again_are_named(cluster, client):
    held = client.scatter([data()[:30], data()[30:]])
    parts = [da.from_delayed(dask.delayed(np.asarray)(part), (30, 10), float) for part in held]
    X = da.concatenate(parts)
    for worker in list(cluster.workers.values()):
        cluster.sync(worker.close)
    with pytest.raises(ClusterLost, match="lost a part of X.*make the array again"):
        SPA(3).fit(X)


def test_a_chunk_that_went_wrong_before_the_fit_says_what_it_was(client):
    def broken():
        raise OSError("the tape is at home")

    X = da.from_delayed(dask.delayed(broken)(), (60, 10), float).persist()
    distributed.wait(X)
    with pytest.raises(OSError, match="the tape is at home"):
        SPA(3).fit(X)


@pytest.fixture
def impatient():
    """Dask tries for half a minute, twice, to reach a scheduler that has gone."""
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        yield


def test_a_scheduler_that_goes_away_leaves_the_checkpoint_whole(tmp_path, impatient):
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    kept = Checkpoint(tmp_path, seconds=0)
    X = da.from_array(data(), chunks=(8, 10))
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        plain = hals().fit(X)
        gone = at_iteration(3, lambda: cluster.sync(cluster.scheduler.close))
        with pytest.raises(ClusterLost, match="with the checkpoint of this fit it goes on"):
            hals(gone).fit(X, checkpoint=kept)
    iterations = []
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        again = hals(iterations.append).fit(X, checkpoint=kept)
    assert len(iterations) <= 4
    np.testing.assert_array_equal(again.components_, plain.components_)


def test_what_comes_to_this_process_is_said_before_the_start(client, monkeypatch):
    monkeypatch.setattr("provenmf.budget.HINT", 100.0)
    started = []
    monkeypatch.setattr(
        "provenmf.methods.separable.spa.spa", lambda *_, **__: started.append(1) or 1 / 0
    )
    with (
        pytest.warns(RuntimeWarning, match="SPA brings weights and lengths of 60 rows to this"),
        pytest.raises(ZeroDivisionError),
    ):
        SPA(3).fit(da.from_array(data(), chunks=(20, 10)))
    assert started
