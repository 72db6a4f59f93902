"""Anchor words of a small corpus: counts in, anchors out, no word-by-word matrix in between."""

import numpy as np
import scipy.sparse as sp

from provenmf import SPA, FastAnchor
from provenmf.data.preparation import prepare_cooccurrence


def make_corpus(n_documents=2000, n_words=60, n_topics=4, seed=0):
    """Documents that mix a few topics; the first word of each topic occurs in no other."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 1.0), n_topics)
    topics[:, :n_topics] = 0.1 * np.eye(n_topics)
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(n_topics, 0.2), n_documents)
    return sp.csr_array(np.array([rng.multinomial(300, row) for row in mixtures @ topics]))


def run():
    """Find the anchor words of the corpus with two methods."""
    counts = make_corpus()
    words = prepare_cooccurrence(counts, 8)
    for method in (SPA(4), FastAnchor(4)):
        fit = method.fit(words.data).factorization_
        factors = words.undo(fit.weights, fit.components, fit.anchors)
        print(f"{fit.method}: anchor words {sorted(factors.anchors.tolist())}")
        print(f"  separability residual {fit.certificate.measures['separability_residual']:.3f}")
    return factors


if __name__ == "__main__":
    run()
