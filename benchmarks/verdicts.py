"""What the certificates say about real data: the default method of each kind, verdicts in full.

python benchmarks/verdicts.py --data DIR
"""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.io import wavfile
from scipy.signal import stft

from provenmf import Certificate, factorize, find_communities, find_topics, unmix


def matrix(X, k):
    return lambda: factorize(X, k, random_state=0).certificate


def spectrogram(path):
    rate, sound = wavfile.read(path)
    return np.abs(stft(sound.astype(float), rate, nperseg=1024)[2]).T


def cube(path, k, side, scale=1.0):
    pixels = np.load(path)["Y"].T / scale
    return lambda: unmix(pixels, k, shape=(side, side)).certificate


def graph(path, k):
    return lambda: find_communities(sp.load_npz(path), k).certificate


def corpus(path, k):
    return lambda: find_topics(sp.load_npz(path), k).certificate


def generated() -> Iterator[tuple[str, Callable[[], Certificate]]]:
    rng = np.random.default_rng(0)
    yield "generated, 60 x 20", matrix(rng.random((60, 4)) @ rng.random((4, 20)), 4)


def real(data: Path) -> Iterator[tuple[str, Callable[[], Certificate]]]:
    yield "TDT2, 10 topics", corpus(data / "tdt2" / "counts.npz", 10)
    yield "BBC, 5 topics", corpus(data / "bbc_news" / "counts.npz", 5)
    for number, k in ((1, 6), (3, 3)):
        yield f"DBLP{number}", graph(data / "coauthorship" / f"dblp{number}_adjacency.npz", k)
    scenes = data / "hyperspectral"
    yield "Samson, 3 materials", cube(scenes / "samson.npz", 3, 95)
    yield "Jasper Ridge, 4", cube(scenes / "jasper_ridge.npz", 4, 100, 5367.0)
    yield "leukemia, 3", matrix(np.load(data / "leukemia" / "all_aml.npz")["X"].astype(float), 3)
    signatures = data / "mutational_signatures"
    yield "PCAWG, 10", matrix(np.load(signatures / "pcawg.npz")["X"].T.astype(float), 10)
    yield "scenario 8, 3", matrix(np.load(signatures / "scenario8.npz")["X"].T.astype(float), 3)
    yield "piano, 5", matrix(spectrogram(data / "piano" / "piano.wav"), 5)
    mixture = np.maximum(np.load(data / "amino_acids" / "amino_acids.npz")["X"][3], 0)
    yield "amino acids, 3", matrix(mixture, 3)
    yield "Olivetti, 6", matrix(np.load(data / "olivetti" / "olivetti.npz")["X"] / 242.0, 6)
    yield "CBCL, 25", matrix(np.load(data / "cbcl_faces" / "cbcl.npz")["X"] / 255.0, 25)


def in_a_row(certificate: Certificate) -> str:
    """Error, floor, gap, uniqueness, outer band, stability of weights and recovery, in short."""
    checks = {check.name: check for check in certificate.checks}
    numbers = {**certificate.measures, **certificate.bounds}

    def shown(name: str) -> str:
        value = numbers.get(name)
        return f"{value:.3g}" if isinstance(value, float) else "-"

    everywhere = checks["no other parts, same product"].status
    nearby = checks["no other parts nearby"].status
    unique = {"holds": "yes", "fails": "no"}.get(everywhere, "")
    unique = unique or {"holds": "nearby", "fails": "no"}.get(nearby, "unknown")
    recovery = checks.get("anchors survive the residual")
    return " | ".join(
        [
            shown("relative_error"),
            shown("relative_error_lower_bound"),
            shown("relative_error_gap"),
            unique,
            shown("other_fit_mixing"),
            shown("largest_component_change"),
            checks["weights move less than rows"].status,
            "-" if recovery is None else recovery.status,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with real data sets")
    parser.add_argument("--quick", action="store_true", help="generated data only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = generated() if options.data is None or options.quick else real(options.data)
    rows = [
        "data | error | floor | gap | unique | margin | can change | stable weights | recovery",
        "---|---|---|---|---|---|---|---|---",
    ]
    for name, make in sets:
        started = time.perf_counter()
        certificate = make()
        print(f"{name} ({time.perf_counter() - started:.1f} s)")
        print(textwrap.indent(textwrap.fill(certificate.verdict, 90), "  "), flush=True)
        rows.append(f"{name} | {in_a_row(certificate)}")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
