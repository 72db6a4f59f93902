"""MERIT as n grows: anchors found, seconds, peak memory, duality gap.

    python -m benchmarks.scale.merit [--quick] [--sizes 1000,10000] [--seeds 10]
        [--methods SPA,open-loop,MERIT] [--largest-open-loop 10000] [--certify]
    python -m benchmarks.scale.merit --disk DIR --sizes 10000000 --seeds 1
        --components 10 --snr 20 --max-iter 3 --methods MERIT

(d, K) = (50, 40), Dirichlet(1) weights, SNR 10 dB unless said. With --disk the rows are written to
a file in that folder a block at a time, read from there, and deleted afterwards. Each fit runs in a
fresh process; its peak memory counts everything, Python and the data too. Seconds are those of
`fit`, without certificate, by the clock and summed over the cores; kernels are compiled before. The
gap is relative to the objective, over all rows as vertices ("bounded": those outside the dictionary
were bounded and not searched) and over the dictionary alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from provenmf import MERIT, SPA
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.reproduce.merit import high_water_mark

D = 50
WRITTEN_ROWS = 100_000  # at a time
SIZES = (1000, 2000, 5000, 10_000, 30_000, 100_000, 300_000)


class Job(NamedTuple):
    """One fit: n rows of K components at an SNR, from memory or from a file in `folder`."""

    n: int
    method: str
    seed: int
    certify: bool
    components: int
    snr: float
    folder: str | None
    max_iter: int | None


def estimator(job: Job) -> Any:
    method, k = job.method, job.components
    if method == "SPA":
        return SPA(k, constraint="simplex", certify=False)
    if method == "open-loop":
        return MERIT(k, step="open-loop", lam="authors", tol=0, certify=False)
    return MERIT(k, max_iter=job.max_iter, random_state=0, certify=False)


def written_mixtures(job: Job, path: Path) -> set[int]:
    """The model of `dirichlet_mixtures`, written a block at a time; returns the anchors' rows."""
    rng = np.random.default_rng(job.seed)
    components = rng.random((job.components, D))
    anchors = rng.choice(job.n, job.components, replace=False)
    sigma = None
    shape = (job.n, D)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)
    for start in range(0, job.n, WRITTEN_ROWS):
        stop = min(start + WRITTEN_ROWS, job.n)
        weights = rng.dirichlet(np.ones(job.components), stop - start)
        here = (anchors >= start) & (anchors < stop)
        weights[anchors[here] - start] = np.eye(job.components)[here]
        clean = weights @ components
        sigma = sigma or float(np.sqrt(np.mean(clean**2) / 10 ** (job.snr / 10)))
        rows[start:stop] = clean + sigma * rng.standard_normal(clean.shape)
    rows.flush()
    return set(anchors.tolist())


def data_of(job: Job) -> tuple[Any, set[int]]:
    """What is fitted, an array or the path of one, and the anchors' rows."""
    if job.folder is not None:
        path = Path(job.folder) / f"merit_{job.n}_{job.seed}.npy"
        anchors = written_mixtures(job, path)
        return str(path), anchors
    sample = dirichlet_mixtures(job.n, D, job.components, snr=job.snr, random_state=job.seed)
    return sample.data, set(np.asarray(sample.anchors).tolist())


def one_fit(job: Job) -> dict[str, Any]:
    for rows in (80, 700):  # compile everything that the fit will use
        small = dirichlet_mixtures(rows, D, job.components, snr=job.snr, random_state=1).data
        estimator(job).fit(small)
    data, truth = data_of(job)
    started, worked = time.perf_counter(), time.process_time()
    fitted = estimator(job).fit(data)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - worked
    state = fitted.factorization_.state
    row: dict[str, Any] = {
        "n": job.n,
        "method": job.method,
        "seed": job.seed,
        "anchors": len(truth & set(fitted.anchors_.tolist())),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_mb": high_water_mark(),
    }
    if job.method != "SPA":
        row["gap"] = state.duality_gap / state.objective
    if job.certify and job.method != "SPA":
        started = time.perf_counter()
        certificate = fitted._certify(Fit(as_blocks(data), fitted.factorization_, "simplex"))
        row["certificate_seconds"] = time.perf_counter() - started
        row["certified"] = certificate.checks[0].status
    if job.folder is not None:
        Path(data).unlink()
    return row


def in_fresh_process(job: Job) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale.merit", "--one", json.dumps(job)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def show(row: dict[str, Any]) -> None:
    gap = "-"
    if "gap" in row:
        gap = f"{row['gap']:.3f}"
    text = f"{row['n']:>9}  {row['method']:10}{row['seed']:>5}{row['anchors']:>9}"
    text += f"{row['seconds']:>10.2f}{row['cpu_seconds']:>10.1f}{row['peak_mb']:>10.0f}  {gap}"
    if "certified" in row:
        text += f" certificate {row['certificate_seconds']:.1f} s: {row['certified']}"
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--seeds", type=int, default=0, help="0: ten up to 10 000 rows, then three")
    parser.add_argument("--methods", default="SPA,open-loop,MERIT")
    parser.add_argument("--largest-open-loop", type=int, default=10_000)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--components", type=int, default=40)
    parser.add_argument("--snr", type=float, default=10.0, help="in dB")
    parser.add_argument("--max-iter", type=int, help="sweeps of MERIT at most")
    parser.add_argument("--disk", metavar="DIR", help="fit rows in a file there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one_fit(Job(*json.loads(arguments.one)))))
        return
    sizes = [300, 1000] if arguments.quick else [int(n) for n in arguments.sizes.split(",")]
    print(f"{'n':>9}  {'method':10}{'seed':>5}{'anchors':>9}", end="")
    print(f"{'seconds':>10}{'CPU s':>10}{'peak MB':>10}  gap")
    peaks: dict[int, float] = {}
    for n in sizes:
        seeds = arguments.seeds or (1 if arguments.quick else 10 if n <= 10_000 else 3)
        for method in arguments.methods.split(","):
            if method == "open-loop" and n > arguments.largest_open_loop:
                continue
            for seed in range(seeds):
                job = Job(
                    n, method, seed, arguments.certify,
                    arguments.components, arguments.snr, arguments.disk, arguments.max_iter,
                )  # fmt: skip
                row = in_fresh_process(job)
                show(row)
                if method == "MERIT":
                    peaks[n] = row["peak_mb"]
    if len(peaks) > 1:
        first, last = min(peaks), max(peaks)
        exponent = np.log(peaks[last] / peaks[first]) / np.log(last / first)
        print(f"peak memory grows like n^{exponent:.2f} from n = {first} to {last}")


if __name__ == "__main__":
    main()
