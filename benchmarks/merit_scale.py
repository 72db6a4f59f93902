"""MERIT as n grows: anchors found, seconds, peak memory, duality gap.

    python benchmarks/merit_scale.py [--quick] [--sizes 1000,10000] [--seeds 10]
        [--methods SPA,open-loop,MERIT] [--largest-open-loop 10000] [--certify]

(d, K) = (50, 40), Dirichlet(1) weights, SNR 10 dB. Each fit runs in a fresh process; its peak
memory counts everything, Python and the data too. Seconds are those of `fit`, without certificate,
by the clock and summed over the cores; kernels are compiled before. The gap is relative to the
objective, over all rows as vertices ("bounded": those outside the dictionary were bounded and not
searched) and over the dictionary alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from provenmf import MERIT, SPA
from provenmf.blocks import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.guarantees.fit import Fit

K, D, SNR = 40, 50, 10
SIZES = (1000, 2000, 5000, 10_000, 30_000, 100_000, 300_000)


def estimator(method: str) -> Any:
    if method == "SPA":
        return SPA(K, constraint="simplex", certify=False)
    if method == "open-loop":
        return MERIT(K, step="open-loop", lam="authors", tol=0, certify=False)
    return MERIT(K, random_state=0, certify=False)


def one_fit(n: int, method: str, seed: int, certify: bool) -> dict[str, Any]:
    for rows in (80, 700):  # compile everything that the fit will use
        estimator(method).fit(dirichlet_mixtures(rows, D, K, snr=SNR, random_state=1).data)
    sample = dirichlet_mixtures(n, D, K, snr=SNR, random_state=seed)
    data, truth = sample.data, set(np.asarray(sample.anchors).tolist())
    del sample
    started, worked = time.perf_counter(), time.process_time()
    fitted = estimator(method).fit(data)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - worked
    state = fitted.factorization_.state
    row: dict[str, Any] = {
        "n": n,
        "method": method,
        "seed": seed,
        "anchors": len(truth & set(fitted.anchors_.tolist())),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_mb": peak_megabytes(),
    }
    if method != "SPA":
        row["gap"] = state.duality_gap / state.objective
        row["dictionary_gap"] = state.dictionary_gap / state.objective
        row["searched"] = state.gap_searched
        row["margin"] = state.number_margin
    if certify and method != "SPA":
        started = time.perf_counter()
        certificate = fitted._certify(Fit(as_blocks(data), fitted.factorization_, "simplex"))
        row["certificate_seconds"] = time.perf_counter() - started
        row["certified"] = certificate.checks[0].status
    return row


def peak_megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no VmHWM line: peak memory needs Linux")


def in_fresh_process(n: int, method: str, seed: int, certify: bool) -> dict[str, Any]:
    request = json.dumps([n, method, seed, certify])
    command = [sys.executable, __file__, "--one", request]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def show(row: dict[str, Any]) -> None:
    gap = "-"
    if "gap" in row:
        gap = f"{row['gap']:.3f}" + ("" if row["searched"] else " bounded")
        gap += f", {row['dictionary_gap']:.3f}"
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
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one_fit(*json.loads(arguments.one))))
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
                row = in_fresh_process(n, method, seed, arguments.certify)
                show(row)
                if method == "MERIT":
                    peaks[n] = row["peak_mb"]
    if len(peaks) > 1:
        first, last = min(peaks), max(peaks)
        exponent = np.log(peaks[last] / peaks[first]) / np.log(last / first)
        print(f"peak memory grows like n^{exponent:.2f} from n = {first} to {last}")


if __name__ == "__main__":
    main()
