"""Fits on a Dask cluster one of whose workers is killed at a random moment: do the factors agree?

    python benchmarks/cluster_faults.py [--hits 2] [--rows 40000] [--methods spa hals …] [--late]

Two workers in processes of their own. One of them is killed (SIGKILL) at a random moment of the
time that an undisturbed fit takes, chosen among the workers that are computing; its nanny starts
another one, which joins late. A run whose kill came after the end of the fit does not count and is
repeated with a new cluster, until each method was hit `--hits` times. With --late the cluster
begins with one worker, and a second one joins at a random moment. The table counts the fits whose
weights and components have the bits of the undisturbed one.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time

from clusters import METHODS, fitted, matrix
from distributed import Client, LocalCluster

import numpy as np  # isort: skip  (after the threads are set)

MOST_TRIES = 4  # for each hit


def factors(method: str, X) -> bytes:
    """The bits of both factors."""
    found = fitted(method, 5, X, certify=False).factorization_
    return found.weights.tobytes() + found.components.tobytes()


def busy_workers(client: Client) -> set[str]:
    """Addresses of the workers that have something to do."""
    return {address for address, tasks in client.processing().items() if tasks}


def kill_one(cluster: LocalCluster, client: Client, rng: np.random.Generator) -> bool:
    """Kill a worker that computes; False if none does within a second."""
    nannies = {nanny.worker_address: nanny for nanny in cluster.workers.values()}
    for _ in range(100):
        busy = sorted(busy_workers(client) & nannies.keys())
        if busy:
            os.kill(nannies[busy[int(rng.integers(len(busy)))]].pid, signal.SIGKILL)
            return True
        time.sleep(0.01)
    return False


class Disturbance(threading.Thread):
    """What happens to the cluster after a while."""

    def __init__(self, cluster, client, rng, after: float, late: bool) -> None:
        super().__init__()
        self.cluster, self.client, self.rng, self.after = cluster, client, rng, after
        self.late, self.happened, self.fit_over = late, False, False

    def run(self) -> None:
        time.sleep(self.after)
        if self.late:
            self.cluster.scale(2)
            self.client.wait_for_workers(2)
            self.happened = not self.fit_over
        elif not self.fit_over:
            self.happened = kill_one(self.cluster, self.client, self.rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--late", action="store_true")
    a = parser.parse_args()
    rng = np.random.default_rng(0)
    total = agree = 0
    print(f"{'method':14}{'tries':>6}{'hits':>6}{'same bits':>11}{'seconds':>9}", flush=True)
    for method in a.methods:
        tries = hits = same = 0
        while hits < a.hits and tries < MOST_TRIES * a.hits:
            tries += 1
            seconds, hit, agreed = one_run(method, a.rows, rng, late=a.late)
            hits, same = hits + hit, same + (hit and agreed)
        total, agree = total + hits, agree + same
        print(f"{method:14}{tries:6}{hits:6}{same:11}{seconds:9.1f}", flush=True)
    print(f"{agree} of {total} disturbed fits have the bits of the undisturbed one")


def one_run(
    method: str, rows: int, rng: np.random.Generator, *, late: bool
) -> tuple[float, bool, bool]:
    """Seconds of an undisturbed fit, whether the next was disturbed, and whether both agree."""
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        LocalCluster(n_workers=1 if late else 2, silence_logs=50, **options) as cluster,
        Client(cluster) as client,
    ):
        X = matrix(rows, 30, 5, 8)
        factors(method, X)  # compiled
        began = time.perf_counter()
        expected = factors(method, X)
        seconds = time.perf_counter() - began
        after = float(rng.uniform(0.05, 0.9) * seconds)
        disturbance = Disturbance(cluster, client, rng, after, late)
        disturbance.start()
        found = factors(method, X)
        disturbance.fit_over = True
        disturbance.join()
    return seconds, disturbance.happened, found == expected


if __name__ == "__main__":
    main()
