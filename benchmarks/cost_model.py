"""A cost model of passes on a Dask cluster, fitted to small runs and checked on one left out.

    python benchmarks/cost_model.py [--methods spa hals …]

Processor seconds do not depend on what else a machine does, so the model speaks of them:

    workers   =  passes * (entry * rows * columns + task * chunks)
    scheduler =  passes * order * chunks        (client and scheduler together, one after the other)

with `entry` for each method and `task`, `order` for all of them, by nonnegative least squares of
relative errors. With W workers of one thread, a fit takes about scheduler + workers / W seconds: it
stops to gain where orders for all chunks take as long as a worker's share of the data. The
prediction for the configuration that was left out is printed beside what was measured there.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import numpy as np
from cluster import METHODS, cpu_of_workers, matrix
from distributed import Client, SubprocessCluster, wait
from scipy.optimize import nnls

from provenmf.blocks import as_blocks
from provenmf.estimators import make_estimator

FITTED = [(40_000, 8), (40_000, 32), (80_000, 8), (80_000, 32)]  # rows, chunks
LEFT_OUT = (160_000, 16)
COLUMNS, RANK = 100, 10
TARGET = (250_000_000, COLUMNS)  # 100 GB in single precision
CHUNKS_PER_WORKER = 4


def cpu_of_scheduler(client: Client) -> float:
    return client.run_on_scheduler(time.process_time)


def measured(client: Client, method: str, X) -> tuple[int, float, float]:
    """Passes, processor seconds of the workers, and of client and scheduler."""
    blocks, passes = as_blocks(X), [0]

    def count(done: int, n: int) -> None:
        passes[0] += done == n

    blocks.progress = count
    model = make_estimator(method, RANK, random_state=0, certify=False, **METHODS[method])
    before = cpu_of_workers(client), time.process_time() + cpu_of_scheduler(client)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(blocks)
    after = cpu_of_workers(client), time.process_time() + cpu_of_scheduler(client)
    return passes[0], after[0] - before[0], after[1] - before[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--columns", type=int, default=COLUMNS)
    a = parser.parse_args()
    runs = []
    with (
        SubprocessCluster(n_workers=2, worker_kwargs={"nthreads": 1}, silence_logs=40) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        for n, chunks in [*FITTED, LEFT_OUT]:
            X = client.persist(matrix(n, a.columns, RANK, chunks))
            wait(X)
            for method in a.methods:
                if not runs or runs[-1][0] != method:
                    measured(client, method, X)  # compiled, and imported on the workers
                runs.append((method, n, chunks, *measured(client, method, X)))
                print("measured", runs[-1], flush=True)
    kept = [run for run in runs if run[1:3] != LEFT_OUT]
    entry, task = workers_model(kept, a.methods, a.columns)
    order = float(np.median([s / (p * c) for _, _, c, p, _, s in kept]))
    print(f"task {1e3 * task:.2f} ms, order {1e3 * order:.2f} ms a chunk and pass")
    print(f"{'method':14}{'ns/entry':>10}{'workers s: model':>18}{'measured':>10}", end="")
    print(f"{'scheduler s: model':>20}{'measured':>10}{'best workers':>14}")
    for method, n, chunks, passes, workers, scheduler in runs:
        if (n, chunks) != LEFT_OUT:
            continue
        model = passes * (entry[method] * n * a.columns + task * chunks)
        orders = passes * order * chunks
        best = best_workers(entry[method], task, order)
        print(
            f"{method:14}{1e9 * entry[method]:10.2f}{model:18.2f}{workers:10.2f}{orders:20.2f}"
            f"{scheduler:10.2f}{best:14.0f}"
        )
    print(f"seconds of a pass over {TARGET[0]} x {TARGET[1]}, by workers:")
    for method in a.methods:
        times = [
            f"{w}: {seconds_of_pass(entry[method], task, order, w):.2f}" for w in (1, 10, 100, 1000)
        ]
        print(f"{method:14}{'   '.join(times)}")


def workers_model(
    runs: list[tuple[str, int, int, int, float, float]], methods: list[str], columns: int
) -> tuple[dict[str, float], float]:
    """Seconds for an entry, by method, and for a task, by least squares of relative errors."""
    design = np.zeros((len(runs), len(methods) + 1))
    for row, (method, n, chunks, passes, workers, _) in enumerate(runs):
        design[row, methods.index(method)] = passes * n * columns * 1e-9 / workers
        design[row, -1] = passes * chunks * 1e-3 / workers
    found = nnls(design, np.ones(len(runs)))[0]
    return dict(zip(methods, 1e-9 * found[:-1])), 1e-3 * found[-1]


def seconds_of_pass(entry: float, task: float, order: float, workers: int) -> float:
    """With CHUNKS_PER_WORKER chunks on each."""
    n, d = TARGET
    return entry * n * d / workers + CHUNKS_PER_WORKER * (task + order * workers)


def best_workers(entry: float, task: float, order: float) -> float:
    """Where one more worker costs as much as it gains."""
    n, d = TARGET
    return float(np.sqrt(entry * n * d / (CHUNKS_PER_WORKER * order)))


if __name__ == "__main__":
    main()
