"""Li17 on real data: topics of 20 newsgroups (Table 1) and components of faces (Fig. 5).

The paper calls its comparison qualitative. Here numbers stand for what it sees: coherence, shared
words and agreement with the newsgroups for topics; fit and negative pixels for images, which a
picture of a face part cannot have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.fitting import for_real_data
from provenmf.methods import make_estimator
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence
from provenmf.reproduce.claims import (
    Measured,
    Options,
    Recipe,
    Row,
    Settings,
    Tables,
    cell,
    column,
    declare,
)
from provenmf.reproduce.real_data import data_folder, faces, newsgroups
from provenmf.reproduce.rivals import k_means_accuracy

Floats = NDArray[np.floating]
Factors = tuple[Floats, Floats]

# Li17, Table 1: the rows of AND.
PRINTED_TOPICS = (
    "game team year games win play season players 10 nhl",
    "god jesus does bible faith christian christ new christians 00",
    "car new bike just 00 like cars power price engine",
    "key government chip clipper encryption keys use law public people",
    "young encrypted exactly evidence events especially error eric equipment entire",
    "thanks know does advance mail hi like info interested anybody",
    "windows file just don think use problem like files know",
    "drive drives hard card disk software floppy think mac power",
    "edu com soon send think mail ftp university internet information",
    "think don just people like know win game sure edu",
)
PAPER, VARIANT = "AND", "AND, adaptive"
NMF_NAME, LDA_NAME = "NMF (scikit-learn)", "LDA (scikit-learn)"
TABLE_1, FACES = "Measures of 10 topics", "Six components of the faces"


def newsgroup_topics(settings: Settings) -> Measured:
    """Reproduce Table 1: ten topics by three methods; AND from several random starts."""
    folder = data_folder(settings, "and-table1", "news20")
    counts, words, groups = newsgroups(folder)
    if settings.quick:
        counts, groups = sp.csr_array(counts[::8]), groups[::8]
    counts, words, groups = frequent_words(counts, words, groups)
    summary: list[Row] = []
    tables: Tables = {}
    starts = 1 if settings.quick else 5
    runs = [(PAPER, settings.seed + start) for start in range(starts)]
    runs += [(name, settings.seed) for name in (VARIANT, NMF_NAME, LDA_NAME)]
    for step, (name, seed) in enumerate(runs):
        settings.progress(step / len(runs), f"{name}, seed {seed}")
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
    printed: list[Row] = [{"topic": line} for line in PRINTED_TOPICS]
    return Measured({TABLE_1: summary, **tables, "Paper's print: AND": printed})


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


def topic_fit(method: str, counts: sp.csr_array, k: int, seed: int) -> Factors:
    """Fit topics (k, words) and document weights; AND and NMF use unit-length tf-idf rows."""
    from sklearn.decomposition import NMF, LatentDirichletAllocation
    from sklearn.feature_extraction.text import TfidfTransformer

    if method == LDA_NAME:
        lda = LatentDirichletAllocation(k, learning_method="online", random_state=seed)
        weights = lda.fit_transform(counts)
        return lda.components_, weights
    rows = TfidfTransformer().fit_transform(counts)
    if method == NMF_NAME:
        nmf = NMF(k, init="nndsvd", random_state=seed, max_iter=400)
        weights = nmf.fit_transform(rows)
        return nmf.components_, weights
    options: Options = for_real_data("and_descent", k) if method == PAPER else {}
    model = make_estimator("and_descent", k, random_state=seed, certify=False, **options)
    return model.fit(rows).components_, model.transform(rows)


def face_parts(settings: Settings) -> Measured:
    """Reproduce Fig. 5: six components of the faces by eight methods."""
    images = faces(data_folder(settings, "and-fig5", "olivetti"))
    pixels = images.reshape(len(images), -1)
    rows, pictures = [], {}
    methods = face_methods(settings.seed)
    for step, (name, fit) in enumerate(methods.items()):
        settings.progress(step / len(methods), name)
        components, rebuilt = fit(pixels)
        rows.append(describe(name, pixels, components, rebuilt))
        darkest = components.min(axis=1, keepdims=True)
        pictures[name] = (components - darkest).reshape(-1, *images.shape[1:])
    return Measured({FACES: rows}, pictures=pictures)


def face_methods(seed: int) -> dict[str, Callable[[Floats], tuple[Floats, Floats]]]:
    """Return for each method a function that fits components and a reconstruction."""
    from sklearn import cluster, decomposition

    def ours(method: str, options: Options) -> Callable[[Floats], tuple[Floats, Floats]]:
        def fit(pixels: Floats) -> tuple[Floats, Floats]:
            model = make_estimator(method, 6, random_state=seed, certify=False, **options)
            weights = model.fit_transform(pixels)
            return model.components_, weights @ model.components_

        return fit

    def nmf(pixels: Floats) -> tuple[Floats, Floats]:
        model = decomposition.NMF(6, init="nndsvda", random_state=seed, max_iter=1000, tol=1e-6)
        weights = model.fit_transform(pixels)
        return model.components_, weights @ model.components_

    def k_means(pixels: Floats) -> tuple[Floats, Floats]:
        model = cluster.KMeans(6, n_init=10, random_state=seed).fit(pixels)
        return model.cluster_centers_, model.cluster_centers_[model.labels_]

    def centred(model: Any) -> Callable[[Floats], tuple[Floats, Floats]]:
        def fit(pixels: Floats) -> tuple[Floats, Floats]:
            mean = pixels.mean(axis=0)
            model.fit(pixels - mean)
            parts = np.asarray(model.components_)
            return parts, mean + (pixels - mean) @ np.linalg.pinv(parts) @ parts

        return fit

    return {
        PAPER: ours("and_descent", for_real_data("and_descent", 6)),
        VARIANT: ours("and_descent", {}),
        NMF_NAME: nmf,
        "k-means": k_means,
        "PCA": centred(decomposition.PCA(6)),
        "ICA": centred(decomposition.FastICA(6, random_state=seed, max_iter=400, tol=1e-3)),
        "dictionary learning": centred(
            decomposition.MiniBatchDictionaryLearning(6, alpha=0.1, random_state=seed)
        ),
        "sparse PCA": centred(
            decomposition.MiniBatchSparsePCA(6, alpha=0.1, random_state=seed, max_iter=100)
        ),
    }


def describe(name: str, pixels: Floats, components: Floats, rebuilt: Floats) -> Row:
    """Fit, negative part of the images, how local and how alike they are."""
    size = np.abs(components)
    directions = components / np.linalg.norm(components, axis=1, keepdims=True)
    cosines = np.abs(directions @ directions.T)[np.triu_indices(len(components), 1)]
    negative = np.maximum(-components, 0).sum(axis=1) / size.sum(axis=1)
    return {
        "method": name,
        "relative error": float(np.linalg.norm(pixels - rebuilt) / np.linalg.norm(pixels)),
        "negative share": float(np.minimum(negative, 1 - negative).mean()),
        "dark pixels": float(np.mean(components < 0.1 * size.max(axis=1, keepdims=True))),
        "mean cosine of two components": float(cosines.mean()),
    }


def at_least_the_worse(name: str, sign: int, tables: Tables) -> float:
    """Return AND's mean of a measure minus the worse of NMF's and LDA's; larger is better."""
    ours = sign * float(np.mean(column(tables, TABLE_1, name, method=PAPER)))
    others = (sign * cell(tables, TABLE_1, name, method=m) for m in (NMF_NAME, LDA_NAME))
    return ours - min(others)


def beaten(tables: Tables) -> float:
    """Return the number of methods with a worse fit or more negative pixels than AND.

    A method that fits better with signed images is not a part of a face; k-means fits worse.
    """
    mine = {n: cell(tables, FACES, n, method=PAPER) for n in ("relative error", "negative share")}
    others = ("k-means", "PCA", "ICA", "dictionary learning", "sparse PCA")
    return float(
        sum(
            any(cell(tables, FACES, n, method=m) > value for n, value in mine.items())
            for m in others
        )
    )


TOPIC_CLAUSES = {
    "coherent": ("coherence", 1),
    "distinct": ("shared words", -1),
    "agree-with-groups": ("ClustAcc", 1),
}
EXPERIMENTS = declare(
    Recipe(
        "and-table1",
        newsgroup_topics,
        {
            name: partial(at_least_the_worse, measure, sign)
            for name, (measure, sign) in TOPIC_CLAUSES.items()
        },
        variant={PAPER: VARIANT},
        trials=lambda t: len(column(t, TABLE_1, "coherence", method=PAPER)),
    ),
    Recipe(
        "and-fig5",
        face_parts,
        {
            "fit-like-nmf": lambda t: (
                cell(t, FACES, "relative error", method=PAPER)
                / cell(t, FACES, "relative error", method=NMF_NAME)
            ),
            "meaningful-images": lambda t: cell(t, FACES, "negative share", method=PAPER),
            "better-than-others": beaten,
        },
        variant={PAPER: VARIANT},
    ),
)
