"""Fits that are killed at random moments and go on from their checkpoint: do the factors agree?

    python tests/adversarial/faults.py [--runs 2] [--kills 2] [--methods hals] [--signals KILL]

Each run forks a process that fits with a checkpoint after every iteration, sends it a signal at a
random moment of the time that such a process takes when it is left alone, and starts it again,
until `--kills` kills have met a living process (those that come too late begin anew); then lets it
end. The table counts these kills, the runs whose factors have exactly the bits of the undisturbed
fit, and the iterations that were in the checkpoint when the last process began. One thread, since
forked processes share nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import time
import warnings
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import numpy as np

from provenmf import Checkpoint
from provenmf.io.records import load_snapshot
from provenmf.methods import make_estimator

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
    "cones": {},
}
ROWS = {"fast_gradient": 200, "merit": 3000, "poisson": 4000}


def problem(method: str) -> tuple[np.ndarray, int]:
    """Nearly separable rows; few of them for the methods that take long."""
    rng = np.random.default_rng(0)
    n, k = ROWS.get(method, 20_000), 5
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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        (folder / "answer").write_bytes(b"".join(fit(method, folder)))
        os._exit(0)
    finally:
        os._exit(1)


def iterations_kept(folder: Path) -> int:
    """Iterations in all files of the checkpoint."""
    return sum(load_snapshot(path)["done"] for path in folder.glob("*.npz"))


def seconds_alone(method: str) -> float:
    """Time of a process that nobody kills."""
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        os.waitpid(started(method, Path(name)), 0)
        return time.perf_counter() - began


def one_run(
    method: str, expected: bytes, kills: int, seconds: float, rng: np.random.Generator, number: int
) -> tuple[int, ...]:
    """Kills that met a living process, iterations kept before the last start, same bits or not."""
    hits = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while hits < kills:
            child = started(method, folder)
            time.sleep(rng.uniform(0.1, 0.9) * seconds)
            os.kill(child, number)
            if os.waitpid(child, 0)[1]:
                hits += 1
            else:  # it had ended: forget what it wrote
                shutil.rmtree(folder)
                folder.mkdir()
                hits, seconds = 0, 0.8 * seconds
        kept = iterations_kept(folder)
        os.waitpid(started(method, folder), 0)
        return hits, kept, (folder / "answer").read_bytes() == expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--signals", nargs="*", default=["KILL", "INT", "TERM", "HUP"])
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{'method':14}{'signal':>8}{'runs':>6}{'kills':>7}{'same':>11}{'median kept':>15}")
    for method in arguments.methods:
        expected = b"".join(fit(method, None))
        seconds = seconds_alone(method)
        for name in arguments.signals:
            number = signal.Signals[f"SIG{name}"]
            found = [
                one_run(method, expected, arguments.kills, seconds, rng, number)
                for _ in range(arguments.runs)
            ]
            hits, kept, same = zip(*found)
            row = f"{len(found):6}{sum(hits):7}{sum(same):11}{np.median(kept):15.0f}"
            print(f"{method:14}{name:>8}{row}", flush=True)


if __name__ == "__main__":
    main()
