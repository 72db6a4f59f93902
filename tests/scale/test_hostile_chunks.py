"""Chunks that are not what they are declared to be, and clusters that compute nothing."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

from provenmf import ANLS, HALS, SPA, InvalidInput, find_topics
from provenmf.errors import ClusterLost

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

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


def test_chunks_that_differ_from_pass_to_pass_are_noticed():
    def random():
        return np.random.default_rng().poisson(0.5, (20, 8)).astype(float)

    chunks = [da.from_delayed(dask.delayed(random, pure=False)(), (20, 8), float)] * 9
    with pytest.raises(InvalidInput, match="documents changed while it was read"):
        find_topics(da.concatenate(chunks), 2, random_state=0)


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
    rows = []
    with cluster(2) as made:
        # Dask forgets to reset its scheduler if a client is closed inside its own `with`.
        client = distributed.Client(made)

        def callback(row):
            rows.append(row)
            if len(rows) == 2:
                event(made, client)

        model = HALS(3, init="spa", tol=0, max_iter=4, callback=callback, certify=False)
        with pytest.raises(ClusterLost):
            model.fit(da.from_array(X, chunks=(9, -1)))
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


def test_topics_of_what_is_no_matrix_are_refused_by_name():
    with pytest.raises(InvalidInput, match="give a Dask array or frame"):
        find_topics(dask.delayed(np.eye)(9), 2)
