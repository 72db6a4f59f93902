"""provenmf beside scikit-learn, gensim, tomotopy and BERTopic, as a table in Markdown.

Every model gets the same counts and the same number of topics, and runs with two seeds; seconds are
processor time of one fit, after a fit to a small corpus that compiles what needs compiling.

    accuracy, NMI  the largest topic of each document against its class, topics and classes matched
    NPMI           coherence of the ten top words of each topic, on the same counts
    same again     share of the documents that get the same topic with the other seed
    floor          relative error, and what no factorization of this rank can be below
    certificate    number of statements that were proved for this fit

    python -m benchmarks.recovery.corpora --data DIR     BBC News and 20 newsgroups from a folder
    python -m benchmarks.recovery.corpora --sets news20  20 newsgroups, fetched by scikit-learn
    python -m benchmarks.recovery.corpora --quick        a small generated corpus
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.peers.topic_models import MODELS, Found, Task
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from provenmf.applications import count_words
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.real import locate, twenty_newsgroups
from provenmf.io import read_counts
from provenmf.io.mail import body_of
from provenmf.metrics.matching import clustering_accuracy
from provenmf.metrics.topics import npmi_coherence

SEEDS = (0, 1)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
Classes = NDArray[np.intp]
HEADER = ("method", "accuracy", "NMI", "NPMI", "seconds", "same again", "error (floor)", "proved")


def bbc_news(data: Path | None) -> tuple[Task, Classes]:
    """2225 articles of five sections."""
    path = locate("bbc_news", data)
    counts = read_counts(path, path.with_name("vocab.txt"))
    with np.load(path.with_name("labels.npz"), allow_pickle=False) as arrays:
        classes = arrays["labels"]
    return _task(counts.matrix, counts.vocabulary, classes)


def news20(data: Path | None) -> tuple[Task, Classes]:
    """18 846 posts to 20 newsgroups; headers, signatures and quotations are left out."""
    texts, classes, _ = twenty_newsgroups(data)
    counts = count_words([body_of(text) for text in texts], min_documents=10)
    return _task(counts.matrix, counts.vocabulary, classes)


def generated(data: Path | None) -> tuple[Task, Classes]:
    """400 documents of four topics; the class is the topic with the largest weight."""
    corpus = topic_corpus(400, 300, 4, random_state=0)
    words = np.array([f"word{n}" for n in range(300)])
    return _task(corpus.counts, words, corpus.weights.argmax(axis=1))


def _task(
    counts: sp.csr_array, vocabulary: NDArray[np.str_], classes: Classes
) -> tuple[Task, Classes]:
    """Without documents and words that do not occur."""
    rows = np.asarray(counts.sum(axis=1)).ravel() > 0
    columns = np.asarray(counts.sum(axis=0)).ravel() > 0
    kept = sp.csr_array(sp.csr_array(counts)[rows][:, columns])
    words = [str(word) for word in vocabulary[columns]]
    return Task(kept, words, len(np.unique(classes))), np.asarray(classes)[rows]


SETS: dict[str, Callable[[Path | None], tuple[Task, Classes]]] = {
    "bbc_news": bbc_news,
    "news20": news20,
    "generated": generated,
}


def measure(model: str, name: str, data: Path | None) -> list[str]:
    """The cells of one row of the table."""
    try:
        MODELS[model](generated(None)[0], 0)
    except ImportError as error:
        return [model, f"not run: {error.name} is not installed", *[""] * (len(HEADER) - 2)]
    task, classes = SETS[name](data)
    runs, seconds = [], []
    for seed in SEEDS:
        started = time.process_time()
        runs.append(MODELS[model](task, seed))
        seconds.append(time.process_time() - started)
    scores = [
        np.mean([clustering_accuracy(run.labels, classes) for run in runs]),
        np.mean([normalized_mutual_info_score(classes, run.labels) for run in runs]),
        np.mean([npmi_coherence(run.words, task.counts).mean() for run in runs]),
    ]
    again = clustering_accuracy(runs[0].labels, runs[1].labels)
    shown = [f"{score:.3f}" for score in scores]
    return [model, *shown, f"{np.mean(seconds):.1f}", f"{again:.0%}", *_certified(runs[0])]


def _certified(found: Found) -> list[str]:
    """Relative error with its floor, and how many bounds the certificate has."""
    if found.certificate is None:
        return ["–", "–"]
    error = found.certificate.measures["relative_error"]
    floor = found.certificate.bounds.get("relative_error_lower_bound")
    shown = "none proved" if floor is None else f"{floor:.4f}"
    return [f"{error:.4f} ({shown})", str(len(found.certificate.bounds))]


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """One table for each data set; each model runs in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of data sets, see docs/data.md")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["bbc_news", "news20"])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--quick", action="store_true", help="the generated corpus only")
    chosen = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read by each new process
    context = multiprocessing.get_context("spawn")
    for name in ["generated"] if chosen.quick else chosen.sets:
        task, _ = SETS[name](chosen.data)
        n_documents, n_words = task.counts.shape
        print(f"\n{name}: {n_documents} documents, {n_words} words, {task.k} topics\n")
        print(_line(HEADER), _line(["---"] * len(HEADER)), sep="\n", flush=True)
        for model in chosen.models:
            with context.Pool(1) as pool:
                print(_line(pool.apply(measure, (model, name, chosen.data))), flush=True)


if __name__ == "__main__":
    main()
