"""Topics against the truth: how far off, how fast, and whether more documents bring them closer.

Corpora come from `provenmf.datasets.corpora`: 30 000 words with Zipf's frequencies, weights
Dirichlet(0.1), about 80 words a document, three exclusive words of probability .004 in each topic.
Every run is a process of its own, so that the peak of its memory is its own; seconds are those of
the processor. Peers are optional: what is not installed is left out.

    python -m benchmarks.recovery.topics                                  a few minutes
    python -m benchmarks.recovery.topics --documents 5000 20000 200000 --seeds 11 12 13 14 15
    python -m benchmarks.recovery.topics --kind "no anchors" --methods find_topics tomotopy
    python -m benchmarks.recovery.topics --numbers 40                     hit rate of the number
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.peers import topic_models as peers
from benchmarks.peers.topic_models import Answer

from provenmf.datasets.corpora import TopicCorpus, topic_corpus

KINDS: dict[str, dict[str, Any]] = {
    "anchors": {},
    "no anchors": {"anchors_per_topic": 0},
}


def corpus_of(n_documents: int, n_topics: int, kind: str, seed: int, n_words: int) -> TopicCorpus:
    """The corpus that every method of a comparison gets."""
    settings = {"word_concentration": 0.01, "zipf": 1.0, **KINDS[kind]}
    return topic_corpus(n_documents, n_words, n_topics, random_state=seed, **settings)


def found_by_us(corpus: TopicCorpus, k: int) -> Answer:
    """Without a certificate, which the peers have not either."""
    from provenmf.applications import find_topics

    found = find_topics(corpus.counts, k, certify=False, evidence=False)
    topics = np.zeros((len(found.topics), corpus.counts.shape[1]))
    topics[:, found.word_columns] = found.topics
    return topics, found.document_weights


METHODS: dict[str, Callable[[TopicCorpus, int], Answer]] = {
    "find_topics": found_by_us,
    "scikit-learn NMF (KL)": lambda c, k: peers.nmf_kl(c.counts, k, init="nndsvda", max_iter=100),
    "scikit-learn LDA": lambda c, k: peers.lda(
        c.counts, k, doc_topic_prior=0.1, learning_method="online", batch_size=512
    ),
    "gensim": lambda c, k: peers.gensim_lda(c.counts, k),
    "tomotopy": lambda c, k: peers.tomotopy_lda(c.counts, k, sweeps=200, alpha=0.1, eta=0.01),
}


def measure(method: str, n_documents: int, k: int, kind: str, seed: int, n_words: int) -> Any:
    """One run; kernels are compiled beforehand on a small corpus."""
    import resource

    from provenmf.metrics.topics import match_topics

    if method == "find_topics":
        METHODS[method](corpus_of(300, 3, kind, 0, 300), 3)
    corpus = corpus_of(n_documents, k, kind, seed, n_words)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    topics, weights = METHODS[method](corpus, k)
    seconds = time.process_time() - started
    match = match_topics(topics, corpus.topics)
    return {
        "method": method,
        "documents": n_documents,
        "topics": k,
        "kind": kind,
        "seed": seed,
        "error": round(match.mean_distance, 4),
        "worst": round(float(match.distances.max()), 3),
        "covered": round(float(np.mean(match.distances < 1.0)), 3),
        "weights": round(match.weight_distance(weights, corpus.weights), 4),
        "seconds": round(seconds, 1),
        "MB more": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
        "minimax": round(float(np.sqrt(n_words / corpus.counts.sum())), 4),
    }


def hit_rate(number: int) -> None:
    """How often the number of topics is found, for 5 to 100 topics."""
    from provenmf.applications.topics.corpus import WordCounts
    from provenmf.applications.topics.solver import find_number

    hits = []
    for trial in range(number):
        k = int(np.round(np.geomspace(5, 100, number))[trial])
        corpus = corpus_of(max(2000, 400 * k), k, "anchors", 1000 + trial, 10_000)
        found, _ = find_number(WordCounts(corpus.counts))
        hits.append(found == k)
        print(json.dumps({"topics": k, "found": found}), flush=True)
    print(f"{sum(hits)} of {len(hits)}")


def main() -> None:
    """Run what the arguments ask for; one JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[5000, 20_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[11])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--kind", choices=KINDS, default="anchors")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--numbers", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.numbers:
        hit_rate(chosen.numbers)
        return
    context = multiprocessing.get_context("spawn")
    errors: dict[str, list[tuple[float, float]]] = {}
    for n_documents in chosen.documents:
        for seed in chosen.seeds:
            for method in chosen.methods:
                task = (method, n_documents, chosen.topics, chosen.kind, seed, chosen.words)
                with context.Pool(1) as pool:
                    row = pool.apply(measure, task)
                print(json.dumps(row), flush=True)
                errors.setdefault(method, []).append((np.log(n_documents), np.log(row["error"])))
    for method, points in errors.items():
        if len({size for size, _ in points}) > 1:
            slope = np.polyfit(*np.array(points).T, 1)[0]
            print(f"{method}: slope of log error against log documents {slope:.2f}")


if __name__ == "__main__":
    main()
