"""How likely topic models make words of new documents, given the documents' other words.

A fifth of the documents is left out. Each model finds topics in the rest; half of the entries of a
document left out give its weights, by one inference for all models with each model's own prior, and
the other half is to be predicted: the mean log probability of a word, with 1/1000 of the words'
frequencies mixed in. For labelled corpora also accuracy, normalised mutual information of the
largest weights with the classes, and NPMI of ten top words, in the whole corpus.

    python -m benchmarks.recovery.held_out_words --data DIR
        [--corpora bbc_news news20 nips] [--models ours]

DIR/NAME/counts.npz and, for classes, DIR/NAME/labels.npz; of TDT2 and Reuters a trial of ten
classes (docs/data.md). tomotopy is optional.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from provenmf.applications.topics.corpus import without
from provenmf.applications.topics.inference import infer_documents
from provenmf.metrics.matching import clustering_accuracy
from provenmf.metrics.topics import npmi_coherence, top_words
from provenmf.reproduce.real_data import Collection

Floats = NDArray[np.float64]
N_TOPICS = {"bbc_news": 5, "news20": 20, "nips": 50, "tdt2": 10, "reuters21578": 10}
TRIAL = 30  # of TDT2 and Reuters


def ours(counts: sp.csr_array, k: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Topics, prior and top words of find_topics; a prior of one in all where it finds none."""
    from provenmf.applications import find_topics

    found = find_topics(counts, k, certify=False, evidence=False)
    topics = np.zeros((k, counts.shape[1]))
    topics[:, found.word_columns] = found.topics
    prior = np.full(k, 1.0 / k) if found.prior is None else found.prior
    return topics, prior, found.word_columns[found.top_columns(10)]


def scikit_learn_nmf(counts: sp.csr_array, k: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Kullback-Leibler loss; a prior of one in all."""
    from sklearn.decomposition import NMF

    model = NMF(k, beta_loss="kullback-leibler", solver="mu", random_state=0).fit(counts)
    topics = model.components_ / np.maximum(model.components_.sum(axis=1, keepdims=True), 1e-12)
    return topics, np.full(k, 1.0 / k), top_words(topics, 10)


def scikit_learn_lda(counts: sp.csr_array, k: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Its defaults."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(k, random_state=0).fit(counts)
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return topics, np.full(k, 1.0 / k), top_words(topics, 10)


def tomotopy(counts: sp.csr_array, k: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Its defaults, which fit the prior too; 200 sweeps on one thread."""
    import tomotopy as peer

    model = peer.LDAModel(k=k, seed=0)
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:]):
        words = np.repeat(counts.indices[start:end], counts.data[start:end].astype(int))
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(200, workers=1)
    order = np.array([int(word) for word in model.used_vocabs])
    topics = np.zeros((k, counts.shape[1]))
    topics[:, order] = np.array([model.get_topic_word_dist(topic) for topic in range(k)])
    return topics, np.array(model.alpha, dtype=float), top_words(topics, 10)


MODELS: dict[str, Callable[[sp.csr_array, int], tuple[Floats, Floats, NDArray[np.intp]]]] = {
    "ours": ours,
    "scikit-learn NMF (KL)": scikit_learn_nmf,
    "scikit-learn LDA": scikit_learn_lda,
    "tomotopy": tomotopy,
}


def completion(counts: sp.csr_array, topics: Floats, prior: Floats, frequencies: Floats) -> float:
    """Mean log probability of a half of each document's entries, given the other half."""
    half = np.random.default_rng(3).integers(2, size=counts.nnz) == 0
    weights = infer_documents(without(counts, half), topics, prior)
    weights[weights.sum(axis=1) == 0] = prior / prior.sum()
    rest = without(counts, ~half).tocoo()
    documents, words = rest.coords
    likely = np.einsum("ij,ij->i", weights[documents], topics.T[words])
    mixed = 0.999 * likely + 0.001 * frequencies[words]
    return float(rest.data @ np.log(mixed) / rest.data.sum())


def corpus_of(folder: Path, k: int) -> tuple[sp.csr_array, NDArray[np.integer] | None]:
    """Counts, and classes if there are some."""
    if (folder / "splits.npz").exists():
        return Collection.read(folder).trial(k, TRIAL)
    counts = sp.csr_array(sp.load_npz(folder / "counts.npz")).astype(np.float64)
    labels = folder / "labels.npz"
    return counts, np.load(labels)["labels"] if labels.exists() else None


def measure(folder: Path, name: str, model: str) -> dict[str, object]:
    """One corpus and one model."""
    k = N_TOPICS[name]
    counts, classes = corpus_of(folder / name, k)
    order = np.random.default_rng(7).permutation(counts.shape[0])
    new, old = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])
    kept = np.flatnonzero(np.diff(sp.csc_array(counts[old]).indptr) > 1)
    train, test = sp.csr_array(counts[old][:, kept]), sp.csr_array(counts[new][:, kept])
    smoothed = np.asarray(train.sum(axis=0)) + 0.5
    started = time.process_time()
    topics, prior, _ = MODELS[model](train, k)
    seconds = time.process_time() - started
    row: dict[str, object] = {"corpus": name, "model": model, "seconds": round(seconds, 1)}
    row["held out"] = round(completion(test, topics, prior, smoothed / smoothed.sum()), 4)
    topics, prior, words = MODELS[model](counts, k)
    row["NPMI"] = round(float(np.nanmean(npmi_coherence(words, counts))), 3)
    if classes is not None:
        largest = infer_documents(counts, topics, prior).argmax(axis=1)
        row["accuracy"] = round(float(clustering_accuracy(largest, classes)), 3)
        row["NMI"] = round(float(normalized_mutual_info_score(classes, largest)), 3)
    return row


def main() -> None:
    """One JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", choices=N_TOPICS, default=list(N_TOPICS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    chosen = parser.parse_args()
    for name in chosen.corpora:
        for model in chosen.models:
            print(json.dumps(measure(chosen.data, name, model)), flush=True)


if __name__ == "__main__":
    main()
