"""What a Dask cluster loses or gains in the middle of a fit, and chunks that are not in order."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import ANLS, HALS, SPA, Checkpoint, InvalidInput
from provenmf.errors import ClusterLost

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from provenmf.data.dask import aligned  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).integers(1, 100, (40, 8)).astype(float)


def cluster(workers, **options):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None, **options
    )


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("provenmf.data.dask.LOOK", 0.2)
    monkeypatch.setattr("provenmf.data.dask.PATIENCE", 1.0)


@pytest.mark.parametrize("on", ["threads", "cluster"])
@pytest.mark.parametrize("method", [HALS, ANLS])
@pytest.mark.parametrize("gone", [(25, 3), (slice(9, 18), 3)])
def test_missing_entries_count_the_same_everywhere(on, method, gone):
    holes = X.copy()
    holes[gone] = np.nan
    near = method(3, random_state=0, max_iter=9).fit(holes)
    array = da.from_array(holes, chunks=(9, -1))
    with cluster(2) as made, distributed.Client(made) if on == "cluster" else nullcontext():
        far = method(3, random_state=0, max_iter=9).fit(array)
        weights = far.transform(array)
        with pytest.raises(InvalidInput, match="NaN in .* entries, the first of them in row"):
            SPA(3).fit(array)
    np.testing.assert_array_equal(far.components_, near.components_)
    np.testing.assert_array_equal(weights, near.transform(holes))
    assert far.reconstruction_err_ == near.reconstruction_err_


def nobody_works(made, client):
    return nullcontext()


def all_are_paused(made, client):
    [worker] = made.workers.values()
    worker.status = type(worker.status).paused
    while client.scheduler_info()["workers"][worker.address]["status"] != "paused":
        pass
    return nullcontext()


def a_resource_is_wanted(made, client):
    return dask.annotate(resources={"GPU": 1})


@pytest.mark.parametrize(
    ("workers", "trouble", "message"),
    [
        (0, nobody_works, "there are no workers"),
        (1, all_are_paused, "all 1 workers are paused"),
        (1, a_resource_is_wanted, "none of the workers"),
    ],
)
def test_a_cluster_that_computes_nothing_is_named(workers, trouble, message, impatient):
    with cluster(workers, memory_limit=0) as made, distributed.Client(made) as client:
        with trouble(made, client), pytest.raises(ClusterLost, match=message):
            SPA(3).fit(da.from_array(X, chunks=(9, -1)) + 0)
        for worker in made.workers.values():
            worker.status = type(worker.status).running


def test_a_worker_that_comes_late_is_awaited():
    with cluster(0) as made, distributed.Client(made):
        made.adapt(minimum=0, maximum=1, interval="100ms")
        far = SPA(3).fit(da.from_array(X, chunks=(9, -1)))
    np.testing.assert_array_equal(far.anchors_, SPA(3).fit(X).anchors_)


def test_a_fit_inside_a_task_of_the_only_worker():
    with cluster(1) as made, distributed.Client(made) as client:
        found = client.submit(anchors_in_a_task, X).result(timeout=60)
    np.testing.assert_array_equal(found, SPA(3).fit(X).anchors_)


def anchors_in_a_task(array):
    return SPA(3).fit(da.from_array(array, chunks=(9, -1))).anchors_


def test_chunks_of_a_client_that_is_closed_are_named():
    with cluster(1) as made, distributed.Client(made):
        array = da.from_array(X, chunks=(9, -1)).persist()
        distributed.wait(array)
    with pytest.raises(ClusterLost, match="make .* again"):
        SPA(3).fit(array)


def lose_workers(made, client):
    made.scale(0)
    while client.scheduler_info(n_workers=-1)["workers"]:
        time.sleep(0.05)


@pytest.mark.parametrize("event", [lose_workers, lambda made, client: client.close()])
def test_a_cluster_that_is_lost_in_mid_fit_is_named(event, impatient):
    with cluster(2) as made:
        # Dask forgets to reset its scheduler if a client is closed inside its own `with`.
        client = distributed.Client(made)
        with pytest.raises(ClusterLost):
            hals(at_iteration(2, lambda: event(made, client))).fit(da.from_array(X, chunks=(9, -1)))
        client.close()
    assert dask.config.get("scheduler", None) is None


def test_an_asynchronous_client_is_refused_by_name():
    async def run():
        options = {"n_workers": 1, "processes": False, "dashboard_address": None}
        async with (
            distributed.LocalCluster(asynchronous=True, **options) as made,
            distributed.Client(made, asynchronous=True),
        ):
            with pytest.raises(InvalidInput, match="asynchronous"):
                SPA(3).fit(da.from_array(X, chunks=(9, -1)))

    with ThreadPoolExecutor(1) as own_thread:  # other tests may have left a loop in this one
        own_thread.submit(asyncio.run, run()).result()


@pytest.fixture
def client():
    with cluster(2) as made, distributed.Client(made) as client:
        yield client


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


def test_a_worker_that_leaves_and_one_that_joins_change_no_bit(client):
    array = da.from_array(X / 7, chunks=(8, 8))
    plain = hals().fit(array)
    fewer = hals(at_iteration(2, lambda: client.cluster.scale(1))).fit(array)
    more = hals(at_iteration(2, lambda: client.cluster.scale(3))).fit(array)
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
    moved, rows = unaligned(X), sp.csr_array(X)
    rows.data = unaligned(rows.data)
    assert not moved.flags.aligned and not rows.data.flags.aligned
    dense, sparse = aligned((moved, rows))
    assert dense.flags.aligned and sparse.data.flags.aligned
    assert (dense != X).sum() == (sparse != rows).sum() == 0


def test_chunks_that_nobody_can_make_again_are_named(client):
    held = client.scatter([X[:20], X[20:]])
    parts = [da.from_delayed(dask.delayed(np.asarray)(part), (20, 8), float) for part in held]
    array = da.concatenate(parts)
    for worker in list(client.cluster.workers.values()):
        client.cluster.sync(worker.close)
    with pytest.raises(ClusterLost, match="lost a part of X.*make the array again"):
        SPA(3).fit(array)


def test_a_chunk_that_went_wrong_before_the_fit_says_what_it_was(client):
    def broken():
        raise OSError("the tape is at home")

    array = da.from_delayed(dask.delayed(broken)(), (40, 8), float).persist()
    distributed.wait(array)
    with pytest.raises(OSError, match="the tape is at home"):
        SPA(3).fit(array)


def test_a_scheduler_that_goes_away_leaves_the_checkpoint_whole(tmp_path):
    """Dask tries for half a minute, twice, to reach a scheduler that has gone, unless told."""
    kept = Checkpoint(tmp_path, seconds=0)
    array = da.from_array(X / 7, chunks=(8, 8))
    soon = dask.config.set({"distributed.comm.timeouts.connect": "2s"})
    with soon, cluster(1) as made, distributed.Client(made):
        plain = hals().fit(array)
        gone = at_iteration(3, lambda: made.sync(made.scheduler.close))
        with pytest.raises(ClusterLost, match="with the checkpoint of this fit it goes on"):
            hals(gone).fit(array, checkpoint=kept)
    iterations = []
    with cluster(1) as made, distributed.Client(made):
        again = hals(iterations.append).fit(array, checkpoint=kept)
    assert len(iterations) <= 4
    np.testing.assert_array_equal(again.components_, plain.components_)
