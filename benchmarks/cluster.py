"""Methods on a Dask cluster of one and two processes: traffic of the client, CPU time, wall time.

    python benchmarks/cluster.py [--rows 200000] [--columns 100] [--rank 10] [--methods spa hals …]

Scheduler and workers are processes of their own (one thread each), so that what the client sends
and receives is counted where its sockets are read and written. The array is persisted before the
clock starts, or left to be computed with --unpersisted. Wall times compare within one run only,
and mean little on a machine that does other work; bytes and CPU seconds do not depend on that.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import dask.array as da
import numpy as np
from distributed import Client, SubprocessCluster, wait
from distributed.comm import tcp

from provenmf.estimators import make_estimator

METHODS = {
    "spa": {},
    "xray": {},
    "fast_anchor": {},
    "cones": {},
    "merit": {"max_iter": 4},
    "and_descent": {"max_iter": 10},
    "purification": {"max_iter": 10},
    "hals": {"max_iter": 10, "tol": 0.0, "coarse": False, "init": "spa"},
    "anls": {"max_iter": 5, "tol": 0.0, "coarse": False, "init": "spa"},
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


def block(n: int, d: int, k: int, seed: int) -> np.ndarray:
    """Rows that mix k hidden ones, with noise."""
    rng = np.random.default_rng(seed)
    hidden = np.random.default_rng(0).random((k, d))
    return rng.dirichlet(np.full(k, 0.3), size=n) @ hidden + 0.01 * rng.random((n, d))


def matrix(n: int, d: int, k: int, chunks: int) -> da.Array:
    """The rows in chunks, each made where it is needed."""
    from dask.delayed import delayed

    rows = [n * (i + 1) // chunks - n * i // chunks for i in range(chunks)]
    parts = [
        da.from_delayed(delayed(block)(size, d, k, seed), (size, d), float)
        for seed, size in enumerate(rows)
    ]
    return da.concatenate(parts)


def cpu_of_workers(client: Client) -> float:
    return sum(client.run(time.process_time).values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--chunks", type=int, default=16)
    parser.add_argument("--workers", nargs="*", type=int, default=[2])
    parser.add_argument("--unpersisted", action="store_true")
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    a = parser.parse_args()
    size = 8e-6 * a.rows * a.columns
    print(f"{a.rows} x {a.columns}, {size:.0f} MB in {a.chunks} chunks, rank {a.rank}")
    print(
        f"{'method':14}{'workers':>8}{'MB in':>9}{'MB out':>9}{'client s':>10}{'workers s':>11}",
        end="",
    )
    print(f"{'wall s':>8}")
    traffic = Traffic()
    for workers in a.workers:
        with (
            SubprocessCluster(
                n_workers=workers, worker_kwargs={"nthreads": 1}, silence_logs=40
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(workers)
            X = matrix(a.rows, a.columns, a.rank, a.chunks)
            if not a.unpersisted:
                X = client.persist(X)
                wait(X)
            for method in a.methods:
                model = make_estimator(
                    method, a.rank, random_state=0, certify=a.certify, **METHODS[method]
                )
                before = traffic.read, traffic.written, time.process_time(), cpu_of_workers(client)
                began = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X)
                wall = time.perf_counter() - began
                moved = (traffic.read - before[0]) / 1e6, (traffic.written - before[1]) / 1e6
                client_s = time.process_time() - before[2]
                workers_s = cpu_of_workers(client) - before[3]
                print(
                    f"{method:14}{workers:8}{moved[0]:9.1f}{moved[1]:9.1f}{client_s:10.2f}"
                    f"{workers_s:11.2f}{wall:8.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
