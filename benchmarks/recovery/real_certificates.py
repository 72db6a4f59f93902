"""What certificates say about real data: evidence at the usual number of components and twice it.

    python -m benchmarks.recovery.real_certificates --data DIR [--only NAME]

The default method of each kind of data, and its verdict. Then in a table: how many components
unseen rows confirm of the usual number and of twice that; processor seconds without and with
evidence; the relative error, the floor below which no factorization of this rank can be, and
whether the parts are unique. Data sets that are not in DIR are left out.
"""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.io import wavfile
from scipy.signal import stft
from sklearn import datasets

from provenmf import (
    Certificate,
    confirm,
    factorize,
    find_communities,
    find_parts,
    find_signatures,
    find_topics,
    unmix,
)


def spectrogram(path: Path) -> np.ndarray:
    rate, sound = wavfile.read(path)
    return np.abs(stft(sound.astype(float), rate, nperseg=1024)[2]).T


def array(name: str, *, transposed: bool = False, scale: float = 1.0) -> Callable:
    def read(path: Path) -> np.ndarray:
        stored = np.load(path)[name] / scale
        return np.ascontiguousarray((stored.T if transposed else stored).astype(float))

    return read


def ego(number: int) -> Callable:
    """Return a reader of one person's network."""

    def read(path: Path) -> sp.csr_array:
        stored = np.load(path)
        first, second = stored[f"edges_{number}"].T
        n = len(stored[f"nodes_{number}"])
        half = sp.coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
        return sp.csr_array(half + half.T)

    return read


# name, file, how to read it, how to fit it, number of components
SETS = (
    ("BBC", "bbc_news/counts.npz", sp.load_npz, find_topics, 5),
    ("TDT2", "tdt2/counts.npz", sp.load_npz, find_topics, 10),
    ("NIPS", "nips/counts.npz", sp.load_npz, find_topics, 10),
    ("New York Times", "nyt_sample/counts.npz", sp.load_npz, find_topics, 10),
    ("Reuters", "reuters21578/counts.npz", sp.load_npz, find_topics, 10),
    ("20 Newsgroups", "news20/counts.npz", sp.load_npz, find_topics, 20),
    ("DBLP1", "coauthorship/dblp1_adjacency.npz", sp.load_npz, find_communities, 6),
    ("DBLP3", "coauthorship/dblp3_adjacency.npz", sp.load_npz, find_communities, 3),
    ("Facebook 1912", "facebook_ego/facebook_ego.npz", ego(1912), find_communities, 6),
    ("Samson", "hyperspectral/samson.npz", array("Y", transposed=True), unmix, 3),
    (
        "Jasper Ridge",
        "hyperspectral/jasper_ridge.npz",
        array("Y", transposed=True, scale=5367.0),
        unmix,
        4,
    ),
    ("Moffett", "hyperspectral/moffett.npz", array("Y", transposed=True), unmix, 3),
    (
        "PCAWG",
        "mutational_signatures/pcawg.npz",
        array("X", transposed=True),
        find_signatures,
        10,
    ),
    (
        "indel set",
        "mutational_signatures/league/indel_set1_realistic.npz",
        array("counts"),
        find_signatures,
        11,
    ),
    (
        "scenario 8",
        "mutational_signatures/scenario8.npz",
        array("X", transposed=True),
        find_signatures,
        3,
    ),
    ("Olivetti", "olivetti/olivetti.npz", array("X", scale=242.0), find_parts, 6),
    ("CBCL", "cbcl_faces/cbcl.npz", array("X", scale=255.0), find_parts, 25),
    ("leukemia, genes", "leukemia/all_aml.npz", array("X"), factorize, 3),
    ("piano", "piano/piano.wav", spectrogram, factorize, 5),
    ("swimmer", "swimmer/swimmer.npz", array("X", transposed=True), factorize, 17),
)
BUNDLED = (("iris", 3), ("wine", 3), ("breast_cancer", 2), ("digits", 10))


def sets_of(folder: Path | None) -> list[tuple[str, Any, Callable, int]]:
    found = [(name, getattr(datasets, f"load_{name}")().data, factorize, k) for name, k in BUNDLED]
    if folder is not None:
        found += [
            (name, read(folder / path), fit, k)
            for name, path, read, fit, k in SETS
            if (folder / path).exists()
        ]
    return found


def fitted(data: Any, fit: Callable, k: int, evidence: bool) -> tuple[Certificate, float]:
    """Return the certificate and the processor seconds that the command took.

    What takes less than ten seconds runs again: the first run loads compiled loops.
    """
    certificate, seconds = fitted_once(data, fit, k, evidence)
    return fitted_once(data, fit, k, evidence) if seconds < 10 else (certificate, seconds)


def fitted_once(data: Any, fit: Callable, k: int, evidence: bool) -> tuple[Certificate, float]:
    started = time.process_time()
    if fit is not factorize:
        found = fit(data, k, evidence=evidence)
    else:
        found = confirm(data, fit(data, k)) if evidence else fit(data, k)
    return found.certificate, time.process_time() - started


def status(certificate: Certificate, start: str) -> str:
    return next((c.status for c in certificate.checks if c.name.startswith(start)), "-")


def in_a_row(data: Any, fit: Callable, k: int) -> str:
    """Print the verdict and return the other cells."""
    plain = fitted(data, fit, k, False)[1]
    certificate, seconds = fitted(data, fit, k, True)
    print(textwrap.indent(textwrap.fill(certificate.verdict, 90), "  "), flush=True)
    assert certificate.evidence is not None
    double = fitted_once(data, fit, 2 * k, True)[0].evidence
    cells = [f"{len(certificate.evidence.confirmed)} of {k}"]
    cells.append(f"{len(double.confirmed)} of {len(double.judgements)}" if double else "-")
    cells += [f"{plain:.1f} | {seconds:.1f}"]
    numbers = {**certificate.measures, **certificate.bounds}
    for name in ("relative_error", "relative_error_lower_bound"):
        cells.append(f"{numbers[name]:.3g}" if name in numbers else "-")
    cells += [status(certificate, "no other parts"), status(certificate, "weights move less")]
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with real data sets")
    parser.add_argument("--only", default="", help="sets with this in their name")
    parser.add_argument("--quick", action="store_true", help="one small generated set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    sets = [("generated", rng.random((60, 4)) @ rng.random((4, 20)), factorize, 4)]
    if not options.quick:
        sets = [one for one in sets_of(options.data) if options.only in one[0]]
    table = ["data | confirmed | at 2k | seconds | with | error | floor | unique | stable weights"]
    for name, data, fit, k in sets:
        print(name, flush=True)
        cells = in_a_row(data, fit, k)
        table.append(f"{name} | {cells}")
        print(table[-1], flush=True)
    print("\n".join(["", *table]))


if __name__ == "__main__":
    main()
