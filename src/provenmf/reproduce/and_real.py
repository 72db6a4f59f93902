"""Li17 on real data: topics of 20 newsgroups (Table 1) and components of faces (Fig. 5).

The paper calls its comparison qualitative. Here numbers stand for what it sees: coherence, shared
words and agreement with the newsgroups for topics; fit and negative pixels for images, which a
picture of a face part cannot have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.fitting import for_real_data
from provenmf.methods import make_estimator
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence
from provenmf.reproduce.and_descent import PAPER, VARIANT
from provenmf.reproduce.claims import (
    Measured,
    Row,
    Settings,
    Tables,
    cell,
    column,
    contents,
    logarithms,
)
from provenmf.reproduce.real_data import data_folder, faces, newsgroups
from provenmf.reproduce.rivals import k_means_accuracy

Floats = NDArray[np.floating]
NMF_NAME, LDA_NAME = "NMF (scikit-learn)", "LDA (scikit-learn)"
OTHERS = ("k-means", "PCA", "ICA", "dictionary learning", "sparse PCA")
TABLE_1, FACES = "Measures of 10 topics", "Six components of the faces"


def newsgroup_topics(settings: Settings) -> Tables:
    """Reproduce Table 1: ten topics by three methods; AND from several random starts."""
    folder = data_folder(settings, "and-table1", "news20")
    counts, words, groups = newsgroups(folder)
    if settings.quick:
        counts, groups = sp.csr_array(counts[::8]), groups[::8]
    counts, words, groups = frequent_words(counts, words, groups)
    summary: list[Row] = []
    tables: Tables = {}
    runs = [(PAPER, settings.seed + start) for start in range(1 if settings.quick else 5)]
    runs += [(name, settings.seed) for name in (VARIANT, NMF_NAME, LDA_NAME)]
    for name, seed in settings.each(runs):
        topics, weights = topic_fit(name, counts, 10, seed)
        best = top_words(topics, 20)
        summary.append(
            {
                "method": name,
                "seed": seed,
                "coherence": float(topic_coherence(best, counts).mean()),
                "shared words": similarity_count(best),
                "ClustAcc": k_means_accuracy(weights, groups, 20, runs=1, seed=seed),
            }
        )
        if seed == settings.seed:
            tables[name] = [{"topic": " ".join(words[row[:10]])} for row in best]
    printed: list[Row] = [{"topic": line} for line in contents("published.toml")["and_topics"]]
    return {TABLE_1: summary, **tables, "Paper's print: AND": printed}


def frequent_words(
    counts: sp.csr_array, words: NDArray[np.str_], groups: NDArray[np.integer]
) -> tuple[sp.csr_array, NDArray[np.str_], NDArray[np.integer]]:
    """Keep 1000 words as scikit-learn's example does, which Li17 follows, and all documents."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    totals = np.where(documents <= 0.95 * counts.shape[0], counts.sum(axis=0), 0)
    kept = np.sort(np.argsort(-totals, kind="stable")[:1000])
    chosen = sp.csr_array(counts[:, kept])
    filled = np.flatnonzero(chosen.sum(axis=1) > 0)
    return sp.csr_array(chosen[filled]), words[kept], groups[filled]


def topic_fit(method: str, counts: sp.csr_array, k: int, seed: int) -> tuple[Floats, Floats]:
    """Fit topics (k, words) and document weights; AND and NMF use unit-length tf-idf rows."""
    from sklearn.decomposition import NMF, LatentDirichletAllocation
    from sklearn.feature_extraction.text import TfidfTransformer

    if method == LDA_NAME:
        model: Any = LatentDirichletAllocation(k, learning_method="online", random_state=seed)
        return model.fit(counts).components_, model.transform(counts)
    rows = TfidfTransformer().fit_transform(counts)
    if method == NMF_NAME:
        model = NMF(k, init="nndsvd", random_state=seed, max_iter=400)
        weights = model.fit_transform(rows)
        return model.components_, weights
    model = our_model(method, k, seed)
    return model.fit(rows).components_, model.transform(rows)


def our_model(method: str, k: int, seed: int) -> Any:
    """Return AND with the paper's settings for real data, or with ours."""
    options = for_real_data("and_descent", k) if method == PAPER else {}
    return make_estimator("and_descent", k, random_state=seed, certify=False, **options)


def face_parts(settings: Settings) -> Measured:
    """Reproduce Fig. 5: six components of the faces by eight methods."""
    images = faces(data_folder(settings, "and-fig5", "olivetti"))
    pixels = images.reshape(len(images), -1)
    rows, pictures = [], {}
    for name in settings.each((PAPER, VARIANT, NMF_NAME, *OTHERS)):
        components, rebuilt = face_fit(name, pixels, settings.seed)
        negative = np.maximum(-components, 0).sum(axis=1) / np.abs(components).sum(axis=1)
        rows.append(
            {
                "method": name,
                "relative error": float(np.linalg.norm(pixels - rebuilt) / np.linalg.norm(pixels)),
                "negative share": float(np.minimum(negative, 1 - negative).mean()),
            }
        )
        darkest = components.min(axis=1, keepdims=True)
        pictures[name] = (components - darkest).reshape(-1, *images.shape[1:])
    return Measured({FACES: rows}, pictures=pictures)


def face_fit(method: str, pixels: Floats, seed: int) -> tuple[Floats, Floats]:
    """Fit six components and a reconstruction; signed methods work on centered pixels."""
    from sklearn import cluster, decomposition

    if method == "k-means":
        clusters = cluster.KMeans(6, n_init=10, random_state=seed).fit(pixels)
        return clusters.cluster_centers_, clusters.cluster_centers_[clusters.labels_]
    if method in OTHERS:
        kinds = {
            "PCA": decomposition.PCA(6),
            "ICA": decomposition.FastICA(6, random_state=seed, max_iter=400, tol=1e-3),
            "dictionary learning": decomposition.MiniBatchDictionaryLearning(
                6, alpha=0.1, random_state=seed
            ),
            "sparse PCA": decomposition.MiniBatchSparsePCA(
                6, alpha=0.1, random_state=seed, max_iter=100
            ),
        }
        mean = pixels.mean(axis=0)
        parts = np.asarray(kinds[method].fit(pixels - mean).components_)
        return parts, mean + (pixels - mean) @ np.linalg.pinv(parts) @ parts
    model: Any = our_model(method, 6, seed)
    if method == NMF_NAME:
        model = decomposition.NMF(6, init="nndsvda", random_state=seed, max_iter=1000, tol=1e-6)
    weights = model.fit_transform(pixels)
    return model.components_, weights @ model.components_


def least_accuracy(tables: Tables) -> float:
    """Return the smallest ClustAcc of AND, mean over its starts, NMF and LDA."""
    names = (PAPER, NMF_NAME, LDA_NAME)
    return float(
        np.min([np.mean(column(tables, TABLE_1, "ClustAcc", method=name)) for name in names])
    )


def at_least_the_worse(tables: Tables, name: str, sign: int) -> float:
    """Return AND's mean of a measure minus the worse of NMF's and LDA's; larger is better."""
    ours = sign * float(np.mean(column(tables, TABLE_1, name, method=PAPER)))
    others = (sign * cell(tables, TABLE_1, name, method=m) for m in (NMF_NAME, LDA_NAME))
    return ours - min(others)


def beaten(tables: Tables) -> float:
    """Return the number of methods that AND beats in one measure and that win in none.

    Better is by a tenth of the relative error, or a twentieth of all pixels.
    """

    def leads(method: str) -> tuple[float, float]:
        (fit, negative), (other_fit, other_negative) = (
            [cell(tables, FACES, n, method=m) for n in ("relative error", "negative share")]
            for m in (PAPER, method)
        )
        ahead = np.subtract(*logarithms([other_fit, fit])) / np.log(1.1)
        return float(ahead), (other_negative - negative) / 0.05

    return float(sum(max(leads(m)) > 1 and min(leads(m)) >= -1 for m in OTHERS))
