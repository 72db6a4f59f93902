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


def gamma_product(k, hard, rng):
    product = rng.gamma(0.5, size=(ROWS, k)) @ rng.gamma(0.5, size=(k, COLUMNS))
    return with_noise(product, 0.3 if hard else 0.1, rng)


def poisson_counts(k, hard, rng):
    mean = rng.gamma(0.5, size=(ROWS, k)) @ rng.gamma(0.5, size=(k, COLUMNS))
    return rng.poisson((2 if hard else 8) * mean / mean.mean()).astype(float)


def separable(k, hard, rng):
    snr = 12 if hard else 20
    return np.maximum(dirichlet_mixtures(ROWS, COLUMNS, k, snr=snr, random_state=rng).data, 0)


def cones(k, hard, rng):
    made = paper_cones(ROWS, n_components=k, n_columns=COLUMNS, random_state=rng)
    return with_noise(made.data, 0.1 if hard else 0.02, rng)


def and_topics(k, hard, rng):
    made = sample_dirichlet(ROWS, topic_components(k, COLUMNS, random_state=rng), random_state=rng)
    return with_noise(made.data, 0.3 if hard else 0.1, rng)


def purification(k, hard, rng):
    made = sample_purification(ROWS, COLUMNS, k, random_state=rng)
    return with_noise(made.data, 0.3 if hard else 0.1, rng)


def corpus(k, hard, rng):
    length = 30 if hard else 60
    made = topic_corpus(300, 120, k, concentration=0.2, words_per_document=length, random_state=rng)
    return made.counts.toarray().astype(float)


def cube(k, hard, rng):
    made = mixed_cube(12, 12, 50, k, snr=20 if hard else 30, random_state=rng)
    return np.maximum(made.cube.reshape(144, -1), 0)


MODELS = {
    "gamma product": gamma_product,
    "Poisson counts": poisson_counts,
    "separable": separable,
    "cones": cones,
    "AND": and_topics,
    "purification": purification,
    "corpus": corpus,
    "cube": cube,
}


def generated(seeds):
    """(name, matrix, number) for each model and seed; numbers 2 to 7, odd seeds are noisier."""
    for number, (name, make) in enumerate(MODELS.items()):
        for seed in seeds:
            rng = np.random.default_rng([number, seed])
            k = int(rng.integers(2, 8))
            yield f"{name} {seed}", make(k, seed % 2 == 1, rng), k


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
