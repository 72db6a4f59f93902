"""Small problems whose number of components is known: eight models, and real sets with classes."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from provenmf.datasets.and_descent import sample_dirichlet, topic_components
from provenmf.datasets.cones import paper_cones
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.datasets.purification import sample_purification
from provenmf.datasets.separable import dirichlet_mixtures

ROWS, COLUMNS = 150, 40


def with_noise(data, share, rng):
    """Noise of a share of the size of the data, negative entries set to zero."""
    size = share * np.sqrt(np.mean(data**2))
    return np.maximum(data + size * rng.standard_normal(data.shape), 0)


def factors(k, rng):
    """Gamma weights and components."""
    return rng.gamma(0.5, size=(ROWS, k)), rng.gamma(0.5, size=(k, COLUMNS))


def gamma_product(k, noise, rng):
    weights, components = factors(k, rng)
    return with_noise(weights @ components, noise, rng)


def poisson_counts(k, mean, rng):
    weights, components = factors(k, rng)
    product = weights @ components
    return rng.poisson(mean * product / product.mean()).astype(float)


def separable(k, snr, rng):
    return np.maximum(dirichlet_mixtures(ROWS, COLUMNS, k, snr=snr, random_state=rng).data, 0)


def cones(k, noise, rng):
    made = paper_cones(ROWS, n_components=k, n_columns=COLUMNS, random_state=rng)
    return with_noise(made.data, noise, rng)


def and_topics(k, noise, rng):
    made = sample_dirichlet(ROWS, topic_components(k, COLUMNS, random_state=rng), random_state=rng)
    return with_noise(made.data, noise, rng)


def purification(k, noise, rng):
    return with_noise(sample_purification(ROWS, COLUMNS, k, random_state=rng).data, noise, rng)


def corpus(k, length, rng):
    made = topic_corpus(300, 120, k, concentration=0.2, words_per_document=length, random_state=rng)
    return made.counts.toarray().astype(float)


def cube(k, snr, rng):
    return np.maximum(mixed_cube(12, 12, 50, k, snr=snr, random_state=rng).cube.reshape(144, -1), 0)


# Each model, and its noise (or size of counts, or SNR) on even and on odd seeds.
MODELS = {
    "gamma product": (gamma_product, 0.1, 0.3),
    "Poisson counts": (poisson_counts, 8, 2),
    "separable": (separable, 20, 12),
    "cones": (cones, 0.02, 0.1),
    "AND": (and_topics, 0.1, 0.3),
    "purification": (purification, 0.1, 0.3),
    "corpus": (corpus, 60, 30),
    "cube": (cube, 30, 20),
}


def generated(seeds):
    """(name, matrix, number) for each model and seed; numbers 2 to 7, odd seeds are noisier."""
    for number, (name, (make, *levels)) in enumerate(MODELS.items()):
        for seed in seeds:
            rng = np.random.default_rng([number, seed])
            k = int(rng.integers(2, 8))
            yield f"{name} {seed}", make(k, levels[seed % 2], rng), k


def real(folder, rng, most=400):
    """Real sets with classes, as parts of at most so many rows and columns."""
    folder = Path(folder)
    for name, bands in (("samson", 3), ("jasper_ridge", 4), ("moffett", 3)):
        yield name, smaller(np.load(folder / f"hyperspectral/{name}.npz")["Y"].T, rng, most), bands
    leukemia = np.load(folder / "leukemia/all_aml.npz")["X"]
    yield "leukemia", smaller(leukemia, rng, most), 3
    yield "bbc", smaller(sp.load_npz(folder / "bbc_news/counts.npz"), rng, most), 5
    counts = sp.load_npz(folder / "tdt2/counts.npz")
    labels = np.load(folder / "tdt2/labels.npz")["labels"]
    yield "tdt2, 5 largest", smaller(counts[np.flatnonzero(labels < 5)], rng, most), 5
    swimmer = np.load(folder / "swimmer/swimmer.npz")["X"]
    yield "swimmer", swimmer[swimmer.max(axis=1) > 6].astype(float), 13
    signatures = np.load(folder / "mutational_signatures/scenario8.npz")["X"].T
    yield "signatures", smaller(signatures, rng, most), 3
    amino = np.maximum(np.load(folder / "amino_acids/amino_acids.npz")["X"][3], 0)
    yield "amino acids", amino, 3


def smaller(matrix, rng, most):
    """A random part of the rows, and the columns with the most energy."""
    rows = np.sort(rng.permutation(matrix.shape[0])[:most])
    part = matrix[rows]
    part = np.asarray(part.todense() if sp.issparse(part) else part, dtype=float)
    columns = np.sort(np.argsort(-(part**2).sum(axis=0), kind="stable")[:most])
    part = part[:, columns]
    return part[part.any(axis=1)]
