"""A fit gives the same bytes everywhere: threads, forked and spawned processes, Dask workers."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import factorize
from provenmf.datasets.separable import dirichlet_mixtures

pytestmark = pytest.mark.filterwarnings("ignore")  # few iterations, and they say so
X = dirichlet_mixtures(n_rows=60, n_columns=12, n_components=3, random_state=0).data
FITS = [
    (data, 3, {"method": method, "random_state": 0, **options})
    for method, options in [
        ("spa", {}),
        ("merit", {"max_iter": 50}),
        ("hals", {"max_iter": 20}),
        ("and_descent", {"max_iter": 10}),
        ("purification", {"max_iter": 5}),
        ("cones", {}),
    ]
    for data in (X, sp.csr_array(np.where(X > 0.3, X, 0.0)))
]


def content(found):
    return [f.weights.tobytes() + f.components.tobytes() for f in found]


@pytest.fixture(scope="module")
def here():
    return content([factorize(data, k, **options) for data, k, options in FITS])


def test_four_threads(here):
    with ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            jobs = [pool.submit(factorize, data, k, **options) for data, k, options in FITS]
            assert content([job.result() for job in jobs]) == here


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes(here, start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} on {sys.platform}")
    with multiprocessing.get_context(start).Pool(2) as pool:
        jobs = [pool.apply_async(factorize, (data, k), options) for data, k, options in FITS]
        assert content([job.get(timeout=300) for job in jobs]) == here


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(here, backend):
    jobs = [joblib.delayed(factorize)(data, k, **options) for data, k, options in FITS]
    assert content(joblib.Parallel(n_jobs=2, backend=backend)(jobs)) == here


def test_inside_a_dask_worker(here):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        jobs = [client.submit(factorize, data, k, **options) for data, k, options in FITS]
        assert content(client.gather(jobs)) == here
