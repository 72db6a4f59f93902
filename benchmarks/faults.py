"""Fits that are killed at random moments and go on from their checkpoint: do the factors agree?

    python benchmarks/faults.py [--runs 20] [--kills 3] [--methods hals merit …]

Each run forks a process that fits with a checkpoint after every iteration, sends it SIGKILL at a
random moment of the time that an undisturbed fit takes, and starts it again, up to `--kills` times;
then lets it end. The table counts the kills that met a living process, the runs whose factors have
exactly the bits of the undisturbed fit, and the iterations that were in the checkpoint when the
last process began. One thread, since forked processes share nothing else.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import numpy as np

from provenmf import Checkpoint
from provenmf.estimators import make_estimator
from provenmf.io.snapshot import load_snapshot

# Enough iterations to be killed in, whatever they gain.
METHODS = {
    "hals": {"max_iter": 60, "tol": 0.0},
    "anls": {"max_iter": 30, "tol": 0.0},
    "and_descent": {"max_iter": 40},
    "purification": {"max_iter": 30, "tol": 0.0},
    "poisson": {"max_iter": 30, "tol": 0.0},
    "merit": {},
    "fast_gradient": {"max_iter": 60, "tol": 0.0},
    "spa": {},
    "xray": {},
    "fast_anchor": {},
}


def problem(method: str) -> tuple[np.ndarray, int]:
    """Nearly separable rows; few of them for the method with n x n memory."""
    rng = np.random.default_rng(0)
    n, k = (200, 5) if method == "fast_gradient" else (1500, 5)
    weights = rng.dirichlet(np.full(k, 0.3), size=n)
    weights[:k] = np.eye(k)
    return weights @ rng.random((k, 30)) + 0.01 * rng.random((n, 30)), k


def fit(method: str, folder: Path | None) -> tuple[bytes, bytes]:
    """The bits of both factors."""
    X, k = problem(method)
    estimator = make_estimator(method, k, random_state=0, certify=False, **METHODS[method])
    checkpoint = None if folder is None else Checkpoint(folder, seconds=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = estimator.fit(X, checkpoint=checkpoint).factorization_
    return result.weights.tobytes(), result.components.tobytes()


def started(method: str, folder: Path) -> int:
    """A process that fits and writes the bits of its factors into the folder."""
    child = os.fork()
    if child:
        return child
    try:
        (folder / "answer").write_bytes(b"".join(fit(method, folder)))
        os._exit(0)
    finally:
        os._exit(1)


def iterations_kept(folder: Path) -> int:
    """Iterations in all files of the checkpoint."""
    return sum(load_snapshot(path)["done"] for path in folder.glob("*.npz"))


def one_run(
    method: str, expected: bytes, kills: int, seconds: float, rng: np.random.Generator
) -> tuple[int, ...]:
    """Kills that met a living process, iterations kept before the last start, same bits or not."""
    hits = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(kills):
            child = started(method, folder)
            time.sleep(rng.uniform(0, seconds))
            os.kill(child, signal.SIGKILL)
            hits += os.WIFSIGNALED(os.waitpid(child, 0)[1])
            (folder / "answer").unlink(missing_ok=True)
        kept = iterations_kept(folder)
        os.waitpid(started(method, folder), 0)
        return hits, kept, (folder / "answer").read_bytes() == expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{'method':14}{'runs':>6}{'kills':>7}{'same bits':>11}{'iterations kept (median)':>26}")
    for method in arguments.methods:
        expected = b"".join(fit(method, None))
        with tempfile.TemporaryDirectory() as name:
            began = time.perf_counter()
            fit(method, Path(name))
            seconds = time.perf_counter() - began
        found = [
            one_run(method, expected, arguments.kills, seconds, rng) for _ in range(arguments.runs)
        ]
        hits, kept, same = zip(*found)
        print(
            f"{method:14}{len(found):6}{sum(hits):7}{sum(same):11}{np.median(kept):26.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
