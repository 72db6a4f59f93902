"""Matrices for the benchmarks: planted ones, and real ones from a directory given by --data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from provenmf.applications.topics.corpus import tf_idf


def planted(n: int, d: int, k: int, *, noise: float = 0.0475, seed: int = 0) -> np.ndarray:
    """Uniform factors with half of their entries zero, plus normal noise, clipped at zero.

    `noise` is its deviation over the root mean square of the signal: nearly the relative error of
    the best factorization.
    """
    rng = np.random.default_rng(seed)
    weights = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
    components = rng.random((k, d)) * (rng.random((k, d)) < 0.5)
    signal = weights @ components
    scale = noise * np.sqrt(np.mean(signal**2))
    return np.maximum(signal + scale * rng.standard_normal((n, d)), 0.0)


def text(path: Path) -> sp.csr_array:
    """Counts to tf-idf features, rows at unit length; documents without words are left out."""
    scaled = tf_idf(sp.csr_array(sp.load_npz(path)).astype(np.float64))
    return sp.csr_array(normalize(scaled[np.flatnonzero(np.diff(scaled.indptr))]))


def real(data: Path) -> dict[str, tuple[object, int]]:
    """Five matrices of different kinds, with a rank for each."""
    faces = np.load(data / "cbcl_faces" / "cbcl.npz")["X"] / 255.0
    olivetti = np.load(data / "olivetti" / "olivetti.npz")["X"] / 242.0
    genes = np.load(data / "leukemia" / "all_aml.npz")["X"].astype(np.float64)
    return {
        "TDT2": (text(data / "tdt2" / "counts.npz"), 20),
        "BBC news": (text(data / "bbc_news" / "counts.npz"), 10),
        "CBCL faces": (faces, 49),
        "Olivetti faces": (olivetti, 25),
        "leukemia": (genes, 5),
    }
