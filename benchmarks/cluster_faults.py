"""Fits on a Dask cluster one of whose workers is killed at a random moment: do the factors agree?

    python benchmarks/cluster_faults.py [--runs 20] [--methods spa hals …] [--late]

Two workers in processes of their own. Each run kills one of them (SIGKILL) at a random moment of
the time that an undisturbed fit takes; its nanny starts another one, which joins late. With --late
the cluster begins with one worker, and a second one joins. The table counts the kills that came
before the end of the fit and the fits whose components have the bits of the undisturbed one.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import numpy as np
from cluster import METHODS, matrix
from distributed import Client, LocalCluster

from provenmf.estimators import make_estimator


def fit(method: str, X) -> bytes:
    """The bits of the components."""
    estimator = make_estimator(method, 5, random_state=0, certify=False, **METHODS[method])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X).components_.tobytes()


def killer(client: Client, after: float, rng: np.random.Generator) -> threading.Thread:
    """Kill one of the workers that there are, later."""
    workers = sorted(client.run(os.getpid).values())
    victim = workers[int(rng.integers(len(workers)))]

    def kill() -> None:
        time.sleep(after)
        os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--late", action="store_true")
    a = parser.parse_args()
    rng = np.random.default_rng(0)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    first = 1 if a.late else 2
    with LocalCluster(n_workers=first, silence_logs=50, **options) as cluster:
        with Client(cluster) as client:
            X = matrix(a.rows, 30, 5, 8)
            print(f"{'method':14}{'runs':>6}{'in time':>9}{'same bits':>11}{'seconds':>9}")
            for method in a.methods:
                fit(method, X)  # compiled
                began = time.perf_counter()
                expected = fit(method, X)
                seconds = time.perf_counter() - began
                in_time = same = 0
                for _ in range(a.runs):
                    client.wait_for_workers(first)
                    if a.late:
                        cluster.scale(2)
                        found, early = fit(method, X), True
                        cluster.scale(1)
                    else:
                        thread = killer(client, float(rng.uniform(0, seconds)), rng)
                        found = fit(method, X)
                        early = not thread.is_alive()
                        thread.join()
                        time.sleep(1)  # the nanny notices, and starts another worker
                    in_time, same = in_time + early, same + (found == expected)
                print(f"{method:14}{a.runs:6}{in_time:9}{same:11}{seconds:9.1f}", flush=True)


if __name__ == "__main__":
    main()
