"""Topics from counts against those from tf-idf on the trials of Nguyen22's Table II.

    python benchmarks/topic_trials.py --data DIR [--trials 9 19 29] [--sizes 3 4 5 6 7 8 9 10]

DIR/tdt2 and DIR/reuters21578 hold the corpora and their trials (docs/data.md): documents of K
classes. For each K the means over the trials of clustering accuracy (k-means on the documents'
weights, as in the paper), of NMI and accuracy of the largest weights, and of NPMI of ten top words
in the trial's documents and in the whole collection, by counts minus by tf-idf, each with the
standard error of the mean difference, then accuracies and NMI themselves; a line for each K and
corpus. Ranking of top words was chosen on trials 1 to 6.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from provenmf.applications import find_topics
from provenmf.metrics.matching import clustering_accuracy
from provenmf.metrics.topics import npmi_coherence
from provenmf.reproduce.merit_real import k_means_accuracy
from provenmf.reproduce.real_data import Collection

CORPORA = ("tdt2", "reuters21578")
FEATURES = ("counts", "tf-idf")


def measured(collection, number, k, features):
    """Accuracy by k-means, accuracy and NMI of the largest weights, NPMI here and everywhere."""
    counts, classes = collection.trial(k, number)
    found = find_topics(counts, k, features=features, random_state=0, certify=False)
    largest = found.document_weights.argmax(axis=1)
    words = found.word_columns[found.top_columns(10)]
    everywhere = collection.counts[:, collection.trial_columns(k, number)]
    return [
        k_means_accuracy(found.document_weights, classes, k, runs=3, seed=0),
        clustering_accuracy(largest, classes),
        normalized_mutual_info_score(classes, largest),
        float(npmi_coherence(words, counts).mean()),
        float(npmi_coherence(words, everywhere).mean()),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    parser.add_argument("--trials", type=int, nargs="+", default=[9, 19, 29, 39, 49])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(3, 11)))
    chosen = parser.parse_args()
    names = ("k-means", "accuracy", "NMI", "NPMI", "NPMI, all")
    print(f"{'':22}" + "".join(f"{name:>14}" for name in names) + "   k-means of both, NMI of both")
    for corpus in chosen.corpora:
        collection = Collection.read(chosen.data / corpus)
        everything = []
        for k in chosen.sizes:
            table = np.array(
                [
                    [measured(collection, number, k, name) for name in FEATURES]
                    for number in chosen.trials
                ]
            )
            everything.append(table)
            show(f"{corpus} K={k}", table)
        show(f"{corpus}, all", np.concatenate(everything))


def show(name, table):
    ours, before = table.mean(axis=0)
    differences = table[:, 0] - table[:, 1]
    errors = differences.std(axis=0, ddof=1) / np.sqrt(len(table))
    cells = "".join(f"{m:+8.3f} ±{e:.3f}" for m, e in zip(ours - before, errors))
    both = f"{ours[0]:.3f} {before[0]:.3f}, {ours[2]:.3f} {before[2]:.3f}"
    print(f"{name:22}{cells}   {both}", flush=True)


if __name__ == "__main__":
    main()
