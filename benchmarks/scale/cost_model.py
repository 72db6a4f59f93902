"""A cost model of passes on a Dask cluster, fitted to small runs and checked on one left out.

    python -m benchmarks.scale.cost_model [--methods spa hals …]

Processor seconds hardly depend on what else a machine does, so the model speaks of them:

    workers  =  passes * (entry * rows * columns + task * tasks)   (the threads that do the tasks)
    orders   =  passes * (call + order * tasks)     (client and scheduler, one after the other)

with `entry`, `task`, `call` and `order` for each method, by nonnegative least squares of relative
errors. What the scheduler takes while nothing happens is measured first and subtracted. Passes are
those that the blocks count; tasks are those of one pass. With W workers of one thread, TASKS for
each, a pass takes about orders + workers / W seconds: it stops to gain where orders take as long as
a worker's share of the data. What travels is not in the model: see docs/scale.md. The prediction
for the configuration that was left out is printed beside what was measured there.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from benchmarks.scale.workers import METHODS, cluster, fitted, matrix, used, work_so_far

import numpy as np  # isort: skip  (after the threads are set)
from distributed import Client, wait
from scipy.optimize import nnls

from provenmf.data import as_blocks
from provenmf.data import dask as cluster_blocks

# Rows and tasks of a pass for each of two workers.
FITTED = [(30_000, 2), (30_000, 8), (60_000, 2), (60_000, 8)]
LEFT_OUT = (120_000, 4)
CHUNKS, RANK = 32, 10
TARGET = (250_000_000, 100)  # 100 GB in single precision
TASKS = cluster_blocks.TASKS_PER_THREAD


class Run(NamedTuple):
    """One measured fit."""

    method: str
    rows: int
    tasks: int
    passes: int
    workers: float
    orders: float


def idle_share(client: Client) -> float:
    """Processor seconds of the scheduler in a second in which nothing happens."""
    before, began = work_so_far(client).scheduler, time.perf_counter()
    time.sleep(3)
    return (work_so_far(client).scheduler - before) / (time.perf_counter() - began)


def measured(client: Client, method: str, X, idle: float) -> Run:
    """Fit once and count."""
    blocks, passes = as_blocks(X), [0]

    def count(done: int, n: int) -> None:
        passes[0] += done == n

    blocks.progress = count
    before, began = work_so_far(client), time.perf_counter()
    fitted(method, RANK, blocks, certify=False)
    seconds, work = time.perf_counter() - began, work_so_far(client).since(before)
    scheduler = max(work.scheduler - idle * seconds, 0.0)
    tasks = len(blocks._layout.members)
    rows = blocks.n_rows
    return Run(method, rows, tasks, passes[0], sum(work.workers), work.client + scheduler)


def by_least_squares(columns: list[list[float]], totals: list[float]) -> np.ndarray:
    """Nonnegative factors of the columns whose sum is near the totals, relative to these."""
    design = np.array(columns).T / np.array(totals)[:, None]
    scale = design.max(axis=0)
    return nnls(design / scale, np.ones(len(totals)))[0] / scale


def seconds_of_pass(entry: float, task: float, call: float, order: float, workers: int) -> float:
    """Of the target, on so many workers."""
    n, d = TARGET
    return entry * n * d / workers + task * TASKS + call + order * TASKS * workers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--columns", type=int, default=100)
    a = parser.parse_args()
    runs: dict[str, list[Run]] = {method: [] for method in a.methods}
    with cluster(2) as client, used(client):
        idle = idle_share(client)
        print(f"scheduler, idle: {idle:.3f} s a second", flush=True)
        for method in a.methods:
            fitted(method, RANK, matrix(800, a.columns, RANK, 2), certify=False)  # compiled
        for n, tasks in [*FITTED, LEFT_OUT]:
            cluster_blocks.TASKS_PER_THREAD = tasks
            X = client.persist(matrix(n, a.columns, RANK, CHUNKS))
            wait(X)
            for method in a.methods:
                runs[method].append(measured(client, method, X, idle))
                print(*runs[method][-1], flush=True)
    report(runs, a.columns)


def report(runs: dict[str, list[Run]], columns: int) -> None:
    """Fit the model to all runs of a method but the last, and compare it with that one."""
    print(f"{'method':13}{'passes':>7}{'ns/entry':>9}{'ms/task':>8}{'ms/pass, order':>16}", end="")
    print(
        f"{'workers s: model':>18}{'measured':>10}{'orders s: model':>17}{'measured':>10}", end=""
    )
    print(f"{'s a pass of the target on 1, 10, 100, 1000 workers':>54}{'best':>7}")
    for method, (*fit, left) in runs.items():
        entries = [float(run.passes * run.rows * columns) for run in fit]
        passes = [float(run.passes) for run in fit]
        tasks = [float(run.passes * run.tasks) for run in fit]
        entry, task = by_least_squares([entries, tasks], [run.workers for run in fit])
        call, order = by_least_squares([passes, tasks], [run.orders for run in fit])
        model = left.passes * (entry * left.rows * columns + task * left.tasks)
        orders = left.passes * (call + order * left.tasks)
        times = [seconds_of_pass(entry, task, call, order, w) for w in (1, 10, 100, 1000)]
        best = np.sqrt(entry * TARGET[0] * TARGET[1] / max(TASKS * order, 1e-9))
        print(
            f"{method:13}{left.passes:7}{1e9 * entry:9.2f}{1e3 * task:8.2f}"
            f"{1e3 * call:10.1f},{1e3 * order:5.2f}"
            f"{model:18.2f}{left.workers:10.2f}{orders:17.2f}{left.orders:10.2f}"
            f"{', '.join(f'{seconds:.2f}' for seconds in times):>54}{best:7.0f}"
        )


if __name__ == "__main__":
    main()
