"""Are the parts of real data unique? HALS with its defaults, and what its certificate can prove.

    python benchmarks/uniqueness.py --data DIR

DIR holds the data sets in the folders and formats named in `load_all`; missing ones are left out.
For each: whether no other parts have the same product, how many components are in every
factorization of it, the mixing that any other factorization needs at least, or how far components
were turned at the same product; and the time of this examination.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from scipy.io import wavfile
from scipy.signal import stft

from provenmf import HALS
from provenmf.certificate.uniqueness import examine
from provenmf.data import LocalRows

SETS = (
    ("Olivetti", "olivetti/olivetti.npz", lambda z: z["X"], 6),
    ("CBCL", "cbcl_faces/cbcl.npz", lambda z: z["X"], 25),
    ("leukemia", "leukemia/all_aml.npz", lambda z: z["X"].T, 3),
    ("piano, magnitudes", "piano/piano.wav", lambda x: x, 5),
    ("piano, powers", "piano/piano.wav", np.square, 5),
    ("Samson", "hyperspectral/samson.npz", lambda z: z["Y"].T, 3),
    ("Jasper Ridge", "hyperspectral/jasper_ridge.npz", lambda z: z["Y"].T, 4),
    ("PCAWG", "mutational_signatures/pcawg.npz", lambda z: z["X"].T, 10),
    ("BBC", "bbc_news/counts.npz", sp.csr_array, 5),
    ("swimmer", "swimmer/swimmer.npz", lambda z: z["X"].T, 17),
    ("amino acids", "amino_acids/amino_acids.npz", lambda z: np.maximum(z["X"][3], 0), 3),
    ("scenario 8", "mutational_signatures/scenario8.npz", lambda z: z["X"].T, 3),
)


def read(path):
    """Sound as the magnitudes of its spectra, sparse counts, or arrays by name."""
    if path.suffix == ".wav":
        rate, sound = wavfile.read(path)
        return np.abs(stft(sound.astype(np.float64), rate, nperseg=1024)[2]).T
    return sp.load_npz(path) if path.name == "counts.npz" else np.load(path)


def load_all(folder):
    """Yield (name, rows, K) of what is there."""
    for name, path, rows, k in SETS:
        if (folder / path).exists():
            yield name, rows(read(folder / path)).astype(np.float64), k


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    columns = ("data", "K", "unique", "in all", "others mix at least", "turned by degrees", "s")
    table = Table(*columns)
    for name, rows, k in load_all(parser.parse_args().data):
        fitted = HALS(k, certify=False, random_state=0).fit(rows).factorization_
        start = time.perf_counter()
        found = examine(LocalRows.of(fitted.weights), fitted.components)
        seconds = time.perf_counter() - start
        turned = found.ambiguity
        table.add_row(
            name,
            str(k),
            "yes" if found.everywhere else "no" if turned else "nearby" if found.isolation else "?",
            str(found.in_all),
            f"{found.isolation.reach:.2g}" if found.isolation else "-",
            " ".join(f"{angle:.1f}" for angle in turned.degrees) if turned else "-",
            f"{seconds:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
