"""A fit gives the same bytes everywhere: threads, forked and spawned processes, Dask workers.

Every method factorizes a dense and a sparse matrix, all fits of a way at the same time, and each
must have exactly the bits of the fit made alone before. On one machine; other processors and
libraries round differently.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods import CATALOGUE, make_estimator

pytestmark = pytest.mark.filterwarnings("ignore")  # few iterations, and they say so
FEW_ITERATIONS = ("merit", "hals", "anls", "poisson", "fast_gradient", "and_descent")
Fit = tuple[str, bool]
Way = Callable[[Sequence[Fit]], list[bytes]]
X = dirichlet_mixtures(n_rows=60, n_columns=12, n_components=3, random_state=0).data
DATA = {False: X, True: sp.csr_array(np.where(X > 0.3, X, 0.0))}
SECONDS = 600


def fit(method: str, sparse: bool) -> bytes:
    """The bits of the factors."""
    options: dict[str, Any] = {"max_iter": 20} if method in FEW_ITERATIONS else {}
    found = make_estimator(method, 3, random_state=0, **options).fit(DATA[sparse]).factorization_
    return found.weights.tobytes() + found.components.tobytes()


def in_threads(fits: Sequence[Fit]) -> list[bytes]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(fit, *zip(*fits)))


def in_processes(start: str) -> Way:
    def way(fits: Sequence[Fit]) -> list[bytes]:
        with multiprocessing.get_context(start).Pool(2) as pool:
            return pool.starmap_async(fit, fits, chunksize=1).get(SECONDS)

    return way


def forked_while_fitting(fits: Sequence[Fit]) -> list[bytes]:
    """Fork while another thread of this process fits: locks may be held at that moment."""
    done = threading.Event()

    def keep_fitting() -> None:
        while not done.is_set():
            fit("hals", False)

    busy = threading.Thread(target=keep_fitting)
    busy.start()
    try:
        return in_processes("fork")(fits)
    finally:
        done.set()
        busy.join()


def in_joblib(backend: str) -> Way:
    return lambda fits: joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(fit)(*one) for one in fits
    )


def in_dask_workers(fits: Sequence[Fit]) -> list[bytes]:
    import distributed

    settings: dict[str, Any] = {"dashboard_address": None, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        return client.gather([client.submit(fit, *one, pure=False) for one in fits])


WAYS: dict[str, Way] = {
    "8 threads": in_threads,
    "fork": in_processes("fork"),
    "fork in a fit": forked_while_fitting,
    "spawn": in_processes("spawn"),
    "joblib loky": in_joblib("loky"),
    "joblib threads": in_joblib("threading"),
    "Dask worker": in_dask_workers,
}


FITS = [(method, sparse) for method in CATALOGUE for sparse in DATA]


@pytest.fixture(scope="module")
def expected():
    return [fit(*one) for one in FITS]


@pytest.mark.parametrize("name", WAYS)
def test_every_method_has_the_same_bits(name, expected):
    if name == "Dask worker":
        pytest.importorskip("distributed")
    if name.startswith("fork") and "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    found = WAYS[name](FITS)
    assert [one for one, a, b in zip(FITS, expected, found, strict=True) if a != b] == []
