"""Separable methods as n grows: anchors found, seconds of search and whole fit, peak memory.

    python benchmarks/separable.py [--quick] [--sizes 1000,10000] [--methods SPA,XRAY]

(d, K) = (50, 40), Dirichlet(1) weights, SNR 10 dB; each fit in a fresh process. XRAY needs
nonnegative data and gets the entries that noise made negative as zeros.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from provenmf import SPA, XRAY, FastAnchor, FastGradient
from provenmf.datasets.sample import Sample
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.metrics.recovery import anchor_recall
from provenmf.reproduce.merit import high_water_mark

METHODS = {
    "SPA": lambda: SPA(40, certify=False),
    "FastAnchor": lambda: FastAnchor(40, certify=False),
    "XRAY": lambda: XRAY(40, certify=False),
    "FastGradient": lambda: FastGradient(40, max_iter=150, certify=False, random_state=0),
}
LARGEST = {"SPA": 1_000_000, "FastAnchor": 1_000_000, "XRAY": 100_000, "FastGradient": 5000}


def data_for(method: str, sample: Sample) -> NDArray[np.float64]:
    return np.maximum(sample.data, 0.0) if method == "XRAY" else sample.data


def fit(method: str, n: int) -> tuple[float, float, float, float]:
    small = dirichlet_mixtures(80, 50, 40, snr=10, random_state=1)
    METHODS[method]().fit(data_for(method, small))  # compiles what is compiled
    sample = dirichlet_mixtures(n, 50, 40, snr=10, random_state=0)
    data = data_for(method, sample)
    before = high_water_mark(restart=True)
    started = time.perf_counter()
    fitted = METHODS[method]().fit(data)
    seconds = time.perf_counter() - started
    peak = high_water_mark() - before
    found = 40 * anchor_recall(fitted.anchors_, sample.anchors)
    return found, float(fitted.trace_["seconds"][-1]), seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", default="1000,2000,5000,10000,100000,1000000")
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    sizes = [200, 1000] if arguments.quick else [int(n) for n in arguments.sizes.split(",")]
    print(f"{'n':>9}  {'method':14}{'anchors':>9}{'search s':>10}{'fit s':>10}{'peak MB':>10}")
    for n in sizes:
        for method in arguments.methods.split(","):
            if n > LARGEST[method]:
                continue
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found, search, seconds, peak = pool.submit(fit, method, n).result()
            numbers = f"{found:6.0f}/40{search:10.2f}{seconds:10.2f}{peak:10.0f}"
            print(f"{n:9}  {method:14}{numbers}", flush=True)


if __name__ == "__main__":
    main()
