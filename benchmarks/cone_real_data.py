"""On which real data does the certificate of cone NMF hold, or nearly hold?

For each data set, with its natural number of components K: the smallest angle between the axes of
the measured cones against what inequality (1) asks for, the error, and the bound of these
clusters; the share of the rows that lie in cones satisfying (1) around the clusters' mean
directions. Then the largest K from 2 to 12 for which inequality (1), and Lemma 1's weaker
condition, hold. One cone (K = 1) always satisfies both.

    python benchmarks/cone_real_data.py --data DIR [--quick]

DIR holds the data sets in the folders and formats named in `load_all`; missing ones are left out.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from provenmf.applications.topics.tf_idf import document_frequency, tf_idf
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.errors import DegenerateData
from provenmf.methods.cones.guarantee import certify
from provenmf.methods.cones.solver import cones, nearest_component_weights
from provenmf.results import Factorization


def features(counts):
    """tf-idf, no row normalisation; words in one document at most left out."""
    counts = sp.csr_array(counts, dtype=np.float64)
    return tf_idf(sp.csr_array(counts[:, document_frequency(counts) > 1]))


def load_all(folder):
    """Yield (name, rows, K) of what is there."""
    for name, corpus, largest in (
        ("TDT2", "tdt2", 5),
        ("BBC", "bbc_news", 5),
        ("Reuters", "reuters21578", 5),
    ):
        if (folder / corpus / "counts.npz").exists():
            labels = np.load(folder / corpus / "labels.npz")["labels"]
            rows = np.isin(labels, np.argsort(-np.bincount(labels))[:largest])
            counts = sp.load_npz(folder / corpus / "counts.npz").tocsr()[rows]
            yield f"{name}, {largest} classes, tf-idf", features(counts), largest
            yield f"{name}, words by co-occurrence", co_occurrence(features(counts)), largest
    for name, path, key, transpose, k in (
        ("leukemia, patients", "leukemia/all_aml.npz", "X", True, 3),
        ("leukemia, genes", "leukemia/all_aml.npz", "X", False, 3),
        ("CBCL faces", "cbcl_faces/cbcl.npz", "X", False, 49),
        ("Olivetti faces", "olivetti/olivetti.npz", "X", False, 40),
        ("Samson, pixels", "hyperspectral/samson.npz", "Y", True, 3),
        ("Jasper Ridge, pixels", "hyperspectral/jasper_ridge.npz", "Y", True, 4),
        ("Moffett Field, pixels", "hyperspectral/moffett.npz", "Y", True, 3),
        ("swimmer, images", "swimmer/swimmer.npz", "X", True, 17),
        ("swimmer, pixels", "swimmer/swimmer.npz", "X", False, 17),
        ("swimmer without noise, pixels", "swimmer/swimmer.npz", "WH", False, 17),
        ("signatures, scenario 8", "mutational_signatures/scenario8.npz", "X", True, 3),
        ("PCAWG tumours", "mutational_signatures/pcawg.npz", "X", True, 10),
    ):
        if (folder / path).exists():
            stored = np.load(folder / path, allow_pickle=False)
            X = stored["W"] @ stored["H"] if key == "WH" else stored[key]
            yield name, np.asarray(X.T if transpose else X, dtype=np.float64), k
    amino = folder / "amino_acids" / "amino_acids.npz"
    if amino.exists():
        spectra = np.maximum(np.load(amino)["X"], 0)
        excitation = spectra[:3].reshape(-1, spectra.shape[2])
        emission = np.concatenate([sample.T for sample in spectra[:3]])
        yield "amino acids, pure, excitation", excitation, 3
        yield "the same, rows over 10 %", long_rows(excitation, 0.1), 3
        yield "amino acids, pure, emission", emission, 3
        yield "the same, rows over 10 %", long_rows(emission, 0.1), 3
        yield "amino acids, mixture", spectra[3], 3


def long_rows(X, share):
    """Rows longer than this share of the longest: the others are noise of any direction."""
    lengths = np.linalg.norm(X, axis=1)
    return X[lengths > share * lengths.max()]


def co_occurrence(documents):
    """Word vectors FᵀF/n of the thousand most frequent words, as a dense matrix."""
    frequent = np.argsort(-np.asarray((documents > 0).sum(axis=0)).ravel(), kind="stable")[:1000]
    F = sp.csr_array(documents[:, np.sort(frequent)])
    return (F.T @ F).toarray() / F.shape[0]


def examine(X, k):
    """Certificate and relative error with k components."""
    blocks = as_blocks(np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X)
    solution = cones(blocks, k)
    weights = nearest_component_weights(blocks, solution.components)
    record = Factorization("cones", weights, solution.components, labels=solution.labels)
    return certify(Fit(blocks, record))


def status(certificate, start):
    return next(check for check in certificate.checks if check.name.startswith(start))


def largest_certified(X, limit):
    """The largest K up to `limit` with inequality (1), and with Lemma 1's condition."""
    certificates = {k: examine(X, k) for k in range(2, limit + 1)}
    held = [
        [k for k, found in certificates.items() if status(found, start).status == "holds"]
        for start in ("cones far", "same clusters")
    ]
    return [str(max(ks)) if ks else "none" for ks in held]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--quick", action="store_true", help="small sets only, K up to 4")
    arguments = parser.parse_args()
    if arguments.data is None:
        print("no --data DIR given: nothing to do")
        return
    warnings.simplefilter("ignore", DegenerateData)
    limit = 4 if arguments.quick else 12
    table = Table(title="Certificates of cone NMF on real data (angles in radians)")
    for name in (
        "data",
        "rows × columns",
        "K",
        "(1)",
        "axes",
        "needed",
        "ratio",
        "size",
        "error",
        "bound",
        "core",
        "K, (1)",
        "K, Lemma 1",
        "s",
    ):
        table.add_column(name, justify="left" if name == "data" else "right", no_wrap=True)
    for name, X, k in load_all(arguments.data):
        if arguments.quick and np.prod(X.shape) > 2_000_000:
            continue
        start = time.perf_counter()
        certificate = examine(X, k)
        separation, error = status(certificate, "cones far"), status(certificate, "error within")
        table.add_row(
            name,
            f"{X.shape[0]} × {X.shape[1]}",
            str(k),
            separation.status,
            f"{separation.value:.3f}",
            f"{separation.threshold:.3f}",
            f"{min(separation.value / separation.threshold, 999):.2f}",
            f"{max(certificate.measures['size_angles']):.3f}",
            f"{error.value:.3f}",
            f"{certificate.bounds['cluster_relative_error']:.3f}",
            f"{100 * certificate.measures['core_share_of_rows']:.0f} %",
            *largest_certified(X, limit),
            f"{time.perf_counter() - start:.0f}",
        )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
