"""The same fit in threads, in forked and spawned processes, in joblib and in Dask workers.

    python tests/adversarial/threads.py [--quick]

Every method factorizes a dense and a sparse matrix, all fits of a way at the same time, and each
must have exactly the bits of the fit made alone before. The table has a row for each method and a
column for each way: "same", or how many of its fits differ. `test_everywhere.py` holds
it to "same". On one machine; other processors and libraries round differently.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods import CATALOGUE, make_estimator

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


def available() -> dict[str, Way]:
    """The ways that this system has."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    return {name: way for name, way in WAYS.items() if forks or not name.startswith("fork")}


def all_fits(repeats: int = 1) -> list[Fit]:
    return [(method, sparse) for method in CATALOGUE for sparse in DATA] * repeats


def differing(way: Way, fits: Sequence[Fit], expected: dict[Fit, bytes]) -> dict[str, int]:
    """How many fits of each method have other bits."""
    counts = dict.fromkeys(CATALOGUE, 0)
    for one, found in zip(fits, way(fits), strict=True):
        counts[one[0]] += found != expected[one]
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="each fit once, not four times")
    warnings.simplefilter("ignore")  # few iterations, and they say so
    fits = all_fits(1 if parser.parse_args().quick else 4)
    expected = {one: fit(*one) for one in all_fits()}
    columns = {name: differing(way, fits, expected) for name, way in available().items()}
    print(f"{'method':15}" + "".join(f"{name:16}" for name in columns))
    each = len(fits) // len(CATALOGUE)
    for method in CATALOGUE:
        counts = [found[method] for found in columns.values()]
        cells = ["same" if not count else f"{count} of {each} differ" for count in counts]
        print(f"{method:15}" + "".join(f"{cell:16}" for cell in cells))
    return 1 if any(any(found.values()) for found in columns.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
