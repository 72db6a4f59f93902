"""What certificates say about real data: verdicts in full, uniqueness of parts, cones.

    python -m benchmarks.recovery.real_certificates --data DIR

The default method of each kind of data, its verdict and, in a row: relative error, the floor below
which no factorization of this rank can be, whether the parts are unique, whether the weights are
stable and the anchors survive the residual. Then whether inequality (1) of Liu17 holds for the
cones of the data, how far the axes are apart beside what it asks for, error and bound. Data sets
that are not in DIR are left out.
"""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.io import wavfile
from scipy.signal import stft

from provenmf import Certificate, ConeNMF, factorize, find_communities, find_topics, unmix


def spectrogram(path: Path) -> np.ndarray:
    rate, sound = wavfile.read(path)
    return np.abs(stft(sound.astype(float), rate, nperseg=1024)[2]).T


def array(name: str, *, transposed: bool = False, scale: float = 1.0) -> Callable:
    def read(path: Path) -> np.ndarray:
        stored = np.load(path)[name] / scale
        return np.ascontiguousarray((stored.T if transposed else stored).astype(float))

    return read


SCENARIO_8 = "mutational_signatures/scenario8.npz"
# name, file, how to read it, how to fit it, number of components
SETS = (
    ("TDT2", "tdt2/counts.npz", sp.load_npz, find_topics, 10),
    ("BBC", "bbc_news/counts.npz", sp.load_npz, find_topics, 5),
    ("DBLP1", "coauthorship/dblp1_adjacency.npz", sp.load_npz, find_communities, 6),
    ("DBLP3", "coauthorship/dblp3_adjacency.npz", sp.load_npz, find_communities, 3),
    ("Samson", "hyperspectral/samson.npz", array("Y", transposed=True), unmix, 3),
    (
        "Jasper Ridge",
        "hyperspectral/jasper_ridge.npz",
        array("Y", transposed=True, scale=5367.0),
        unmix,
        4,
    ),
    ("leukemia", "leukemia/all_aml.npz", array("X"), factorize, 3),
    ("PCAWG", "mutational_signatures/pcawg.npz", array("X", transposed=True), factorize, 10),
    (
        "scenario 8",
        "mutational_signatures/scenario8.npz",
        array("X", transposed=True),
        factorize,
        3,
    ),
    ("piano", "piano/piano.wav", spectrogram, factorize, 5),
    ("swimmer", "swimmer/swimmer.npz", array("X", transposed=True), factorize, 17),
    ("Olivetti", "olivetti/olivetti.npz", array("X", scale=242.0), factorize, 6),
    ("CBCL", "cbcl_faces/cbcl.npz", array("X", scale=255.0), factorize, 25),
)


def status(certificate: Certificate, start: str) -> str:
    return next((c.status for c in certificate.checks if c.name.startswith(start)), "-")


def in_a_row(certificate: Certificate) -> str:
    numbers = {**certificate.measures, **certificate.bounds}
    shown = [
        f"{numbers[name]:.3g}" if isinstance(numbers.get(name), float) else "-"
        for name in ("relative_error", "relative_error_lower_bound")
    ]
    names = ("no other parts", "weights move less", "anchors survive")
    return " | ".join([*shown, *(status(certificate, name) for name in names)])


def cone_row(rows: np.ndarray, k: int) -> str:
    certificate = ConeNMF(k).fit(rows).certificate_
    apart = next(c for c in certificate.checks if c.name.startswith("cones far"))
    bound = certificate.bounds.get("cluster_relative_error", float("nan"))
    error = certificate.measures["relative_error"]
    return f"{apart.status} | {apart.value:.3f} | {apart.threshold:.3f} | {error:.3f} | {bound:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with real data sets")
    parser.add_argument("--quick", action="store_true", help="one small generated set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    generated = rng.random((60, 4)) @ rng.random((4, 20))
    sets = [("generated", generated, factorize, 4)]
    if options.data is not None and not options.quick:
        found = [(n, options.data / p, read, fit, k) for n, p, read, fit, k in SETS]
        sets = [(n, read(path), fit, k) for n, path, read, fit, k in found if path.exists()]
    table = ["data | error | floor | unique | stable weights | recovery"]
    cones = ["data | (1) | axes apart | needed | error | bound"]
    for name, data, fit, k in sets:
        started = time.perf_counter()
        certificate = fit(data, k).certificate
        print(f"{name} ({time.perf_counter() - started:.1f} s)")
        print(textwrap.indent(textwrap.fill(certificate.verdict, 90), "  "), flush=True)
        table.append(f"{name} | {in_a_row(certificate)}")
        if fit in (factorize, unmix) and data.min() >= 0:
            cones.append(f"{name} | {cone_row(data, k)}")
    print("\n".join([*table, "", *cones]))


if __name__ == "__main__":
    main()
