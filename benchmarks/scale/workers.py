"""What the benchmarks on a Dask cluster share: the methods, the data, processes and their counters.

Scheduler and workers are processes of their own, one thread each, so that what the client sends and
receives is counted where its sockets are read and written, and processor time where it is spent.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
# Scheduler and workers make the data with this module, wherever they are started.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path[1:]])

import dask
import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client, SubprocessCluster
from distributed.comm import tcp

from provenmf.methods import make_estimator

# A fixed number of iterations, so that all sizes make as many passes.
METHODS: dict[str, dict[str, Any]] = {
    "spa": {},
    "xray": {},
    "fast_anchor": {},
    "cones": {},
    "merit": {"max_iter": 4},
    "and_descent": {"max_iter": 10},
    "purification": {"max_iter": 10},
    "hals": {"max_iter": 10, "tol": 0.0, "init": "spa"},
    "anls": {"max_iter": 5, "tol": 0.0, "init": "spa"},
    "poisson": {"max_iter": 5, "tol": 0.0, "init": "spa"},
}


class Traffic:
    """Bytes that pass the sockets of this process."""

    def __init__(self) -> None:
        self.read = self.written = 0
        original_read, original_write = tcp.read_bytes_rw, tcp.TCP.write

        async def counted_read(stream, n):
            self.read += n
            return await original_read(stream, n)

        async def counted_write(comm, *arguments, **options):
            size = await original_write(comm, *arguments, **options)
            self.written += size
            return size

        tcp.read_bytes_rw, tcp.TCP.write = counted_read, counted_write


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """A cluster of so many processes with one thread each."""
    kwargs = {"nthreads": 1}
    with (
        SubprocessCluster(n_workers=workers, worker_kwargs=kwargs, silence_logs=40) as processes,
        Client(processes, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        yield client


@contextmanager
def used(client: Client | None) -> Iterator[None]:
    """Let Dask compute there; None changes nothing."""
    if client is None:
        yield
        return
    with dask.config.set(scheduler="dask.distributed"), client.as_current():
        yield


def block(n: int, d: int, k: int, seed: int) -> np.ndarray:
    """Rows that mix k hidden ones, with noise."""
    rng = np.random.default_rng(seed)
    hidden = np.random.default_rng(0).random((k, d))
    return rng.dirichlet(np.full(k, 0.3), size=n) @ hidden + 0.01 * rng.random((n, d))


def matrix(n: int, d: int, k: int, chunks: int) -> da.Array:
    """The rows in chunks, each made where it is needed."""
    rows = [n * (i + 1) // chunks - n * i // chunks for i in range(chunks)]
    parts = [
        da.from_delayed(delayed(block)(size, d, k, seed), (size, d), float)
        for seed, size in enumerate(rows)
    ]
    return da.concatenate(parts)


def fitted(method: str, k: int, X: Any, **options: Any) -> Any:
    """The method fitted without a word."""
    model = make_estimator(method, k, random_state=0, **(METHODS[method] | options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


class Work(NamedTuple):
    """Processor seconds of the client, of the scheduler, and of the thread of each worker.

    The thread does the tasks; what a worker's other threads take goes on while it is idle, too.
    """

    client: float
    scheduler: float
    workers: list[float]

    def since(self, before: Work) -> Work:
        """What was spent between two moments."""
        each = [now - then for now, then in zip(self.workers, before.workers)]
        return Work(self.client - before.client, self.scheduler - before.scheduler, each)

    @property
    def path(self) -> float:
        """What must come one after the other: the client and the busiest worker."""
        return self.client + max(self.workers, default=0.0)


def work_so_far(client: Client | None) -> Work:
    """Processor seconds since the processes began; without a cluster, of this one alone."""
    if client is None:
        return Work(time.process_time(), 0.0, [])
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    asked = [client.submit(time.thread_time, workers=[name], pure=False) for name in workers]
    scheduler = client.run_on_scheduler(time.process_time)
    return Work(time.process_time(), scheduler, client.gather(asked))
