"""Li17 on real data: topics of 20 newsgroups (Table 1) and components of faces (Fig. 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import NMF, LatentDirichletAllocation

from provenmf.applications.fitting import for_real_data
from provenmf.applications.topics import find_topics
from provenmf.applications.topics.tf_idf import document_frequency
from provenmf.methods import make_estimator
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence
from provenmf.reproduce import published
from provenmf.reproduce.experiment import Experiment, Options, Outcome, Row, Settings
from provenmf.reproduce.real_data import data_folder, faces, newsgroups
from provenmf.reproduce.topic_protocol import in_all_columns, k_means_accuracy

N_WORDS = 10
# scikit-learn's example for this corpus, which Li17 follows: 1000 words, 2000 documents; here all
# documents are used.
MOST_WORDS = 1000
LARGEST_SHARE = 0.95

Topics = tuple[NDArray[np.float64], NDArray[np.float64]]


def newsgroup_topics(settings: Settings) -> Outcome:
    """Table 1, for k = 10 and 20, with measures that the paper does not give."""
    folder = data_folder(settings, "and-table1", "news20")
    counts, words, groups = newsgroups(folder)
    if settings.quick:
        counts, groups = sp.csr_array(counts[::8]), groups[::8]
    counts, words, groups = _frequent_words(counts, words, groups)
    tables: dict[str, list[Row]] = {}
    summary: list[Row] = []
    methods = _topic_methods(settings.seed)
    sizes = (10,) if settings.quick else (10, 20)
    for size_step, k in enumerate(sizes):
        for step, (name, fit) in enumerate(methods.items()):
            done = (size_step + step / len(methods)) / len(sizes)
            settings.progress(done, f"{name}, {k} topics")
            topics, weights = fit(counts, k)
            best = top_words(topics, 20)
            summary.append(
                {
                    "k": k,
                    "method": name,
                    "coherence": round(float(topic_coherence(best, counts).mean()), 1),
                    "shared words": similarity_count(best),
                    "ClustAcc": round(
                        k_means_accuracy(weights, groups, 20, runs=1, seed=settings.seed), 3
                    ),
                }
            )
            tables[f"{name}, {k} topics"] = [
                {"topic": " ".join(words[row[:N_WORDS]])} for row in best
            ]
    tables["Printed in the paper: AND, 10 topics"] = [
        {"topic": line} for line in published.NEWSGROUP_TOPICS_AND
    ]
    tables = {"Measures (coherence: higher is better; shared words: lower)": summary, **tables}
    ours, nmf, lda = (
        np.mean([row["coherence"] for row in summary if row["method"] == name])
        for name in ("AND", "NMF (scikit-learn)", "LDA (scikit-learn)")
    )
    comparable = bool(ours >= min(nmf, lda) - 10)
    said = "comparable, as the paper says" if comparable else "less coherent than both others"
    verdict = (
        f"The mean coherence is {ours:.1f} for AND, {nmf:.1f} for scikit-learn's NMF and "
        f"{lda:.1f} for its LDA: "
        f"AND's topics are {said}."
    )
    return Outcome(tables, verdict, comparable)


def _frequent_words(
    counts: sp.csr_array, words: NDArray[np.str_], groups: NDArray[np.integer]
) -> tuple[sp.csr_array, NDArray[np.str_], NDArray[np.integer]]:
    """The most frequent words that are not in nearly all documents; documents without any go."""
    documents = document_frequency(counts)
    totals = np.where(documents <= LARGEST_SHARE * counts.shape[0], counts.sum(axis=0), 0)
    kept = np.sort(np.argsort(-totals, kind="stable")[:MOST_WORDS])
    chosen = sp.csr_array(counts[:, kept])
    filled = np.flatnonzero(chosen.sum(axis=1) > 0)
    return sp.csr_array(chosen[filled]), words[kept], groups[filled]


def _topic_methods(seed: int) -> dict[str, Callable[[sp.csr_array, int], Topics]]:
    def ours(method: str) -> Callable[[sp.csr_array, int], Topics]:
        def fit(counts: sp.csr_array, k: int) -> Topics:
            result = find_topics(counts, k, method=method, random_state=seed, certify=False)
            return in_all_columns(result, counts.shape[1]), result.document_weights

        return fit

    def nmf(counts: sp.csr_array, k: int) -> Topics:
        from sklearn.feature_extraction.text import TfidfTransformer

        model = NMF(k, init="nndsvd", random_state=seed, max_iter=400)
        weights = model.fit_transform(TfidfTransformer().fit_transform(counts))
        return model.components_, weights

    def lda(counts: sp.csr_array, k: int) -> Topics:
        model = LatentDirichletAllocation(k, learning_method="online", random_state=seed)
        weights = model.fit_transform(counts)
        return model.components_, weights

    return {
        "AND": ours("and_descent"),
        "MERIT": ours("merit"),
        "NMF (scikit-learn)": nmf,
        "LDA (scikit-learn)": lda,
    }


def face_parts(settings: Settings) -> Outcome:
    """Fig. 5: six components, as numbers that say what the pictures show."""
    folder = data_folder(settings, "and-fig5", "olivetti")
    pixels = faces(folder)
    rows = []
    contenders: dict[str, tuple[str, Options]] = {
        "AND": ("and_descent", for_real_data("and_descent", 6)),
        "AND, adaptive from SPA": ("and_descent", {}),
        **{method: (method, {}) for method in ("hals", "spa", "cones")},
    }
    for step, (name, (method, options)) in enumerate(contenders.items()):
        settings.progress(step / 6, name)
        estimator = make_estimator(method, 6, random_state=settings.seed, certify=False, **options)
        weights = estimator.fit_transform(pixels)
        rows.append(_describe(name, pixels, weights, estimator.components_))
    settings.progress(5 / 6, "scikit-learn's NMF")
    model = NMF(6, init="nndsvda", random_state=settings.seed, max_iter=1000, tol=1e-6)
    weights = model.fit_transform(pixels)
    rows.append(_describe("NMF (scikit-learn)", pixels, weights, model.components_))
    errors = {row["method"]: row["relative error"] for row in rows}
    verdict = (
        f"The relative error is {errors['AND']:.4f} for AND and "
        f"{errors['NMF (scikit-learn)']:.4f} for scikit-learn's NMF. "
        "`provenmf parts --method and_descent` draws the components."
    )
    comparable = errors["AND"] <= 1.1 * errors["NMF (scikit-learn)"]
    return Outcome({"Six components of the faces": rows}, verdict, bool(comparable))


def _describe(
    name: str,
    pixels: NDArray[np.floating],
    weights: NDArray[np.floating],
    components: NDArray[np.floating],
) -> Row:
    """Fit, how local the components are (share of dark pixels), how alike they are."""
    error = np.linalg.norm(pixels - weights @ components) / np.linalg.norm(pixels)
    peak = np.abs(components).max(axis=1, keepdims=True)
    directions = components / np.linalg.norm(components, axis=1, keepdims=True)
    cosines = np.abs(directions @ directions.T)[np.triu_indices(len(components), 1)]
    return {
        "method": name,
        "relative error": float(error),
        "dark pixels": float(np.mean(components < 0.1 * peak)),
        "zero weights": float(np.mean(weights <= 1e-10)),
        "mean cosine of two components": float(cosines.mean()),
        "smallest pixel": float(components.min()),
    }


EXPERIMENTS = [
    Experiment(
        name="and-table1",
        paper="Li17",
        title="topics of 20 newsgroups",
        claim="AND gives reasonable topics, as good as those of scikit-learn's NMF and LDA.",
        run=newsgroup_topics,
    ),
    Experiment(
        name="and-fig5",
        paper="Li17",
        title="six components of the Olivetti faces",
        claim="AND gives meaningful component images, about as good as those of scikit-learn's "
        "NMF.",
        run=face_parts,
    ),
]
