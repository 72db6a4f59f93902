"""Topics from counts against those from tf-idf on the trials of Nguyen22's Table II.

    python benchmarks/topic_trials.py --data DIR [--trials 9 19 29] [--sizes 3 4 5 6 7 8 9 10]

DIR/tdt2 and DIR/reuters21578 hold the corpora and their trials (docs/data.md): documents of K
classes. For each K the means over the trials of clustering accuracy (k-means on the documents'
weights, as in the paper), of NMI and accuracy of the largest weights, and of NPMI of ten top words,
by counts minus by tf-idf, then the accuracies themselves; a line for each K and corpus.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from provenmf.applications import find_topics
from provenmf.metrics.clustering import clustering_accuracy
from provenmf.metrics.topics import npmi_coherence
from provenmf.reproduce.real_data import Collection
from provenmf.reproduce.topic_protocol import k_means_accuracy

CORPORA = ("tdt2", "reuters21578")
FEATURES = ("counts", "tf-idf")


def measured(counts, classes, k, features):
    """Accuracy by k-means, accuracy and NMI of the largest weights, NPMI."""
    found = find_topics(counts, k, features=features, random_state=0, certify=False)
    largest = found.document_weights.argmax(axis=1)
    words = found.word_columns[found.top_columns(10)]
    return [
        k_means_accuracy(found.document_weights, classes, k, runs=3, seed=0),
        clustering_accuracy(largest, classes),
        normalized_mutual_info_score(classes, largest),
        float(npmi_coherence(words, counts).mean()),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--trials", type=int, nargs="+", default=[9, 19, 29, 39, 49])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(3, 11)))
    chosen = parser.parse_args()
    names = ("k-means", "accuracy", "NMI", "NPMI")
    print(f"{'':22}" + "".join(f"{name:>10}" for name in names) + "   k-means of both, NMI of both")
    for corpus in CORPORA:
        collection = Collection.read(chosen.data / corpus)
        everything = []
        for k in chosen.sizes:
            table = np.array(
                [
                    [measured(*collection.trial(k, number), k, name) for name in FEATURES]
                    for number in chosen.trials
                ]
            )
            everything.append(table)
            show(f"{corpus} K={k}", table)
        show(f"{corpus}, all", np.concatenate(everything))


def show(name, table):
    ours, before = table.mean(axis=0)
    cells = "".join(f"{value:+10.3f}" for value in ours - before)
    both = f"{ours[0]:.3f} {before[0]:.3f}, {ours[2]:.3f} {before[2]:.3f}"
    print(f"{name:22}{cells}   {both}", flush=True)


if __name__ == "__main__":
    main()
