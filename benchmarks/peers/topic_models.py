"""Rival topic models behind one call: counts (documents, words), k and a seed in, an `Answer` out.

An answer has topics (k, words) and document weights, rows of both with sum one. Settings are the
defaults of each package, except for what the caller gives. A package that is not installed makes
its function raise ImportError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer

Floats = NDArray[np.float64]
Answer = tuple[Floats, Floats]


def tf_idf(counts: sp.csr_array) -> sp.csr_array:
    """Return rows of unit length, as scikit-learn's guide recommends for NMF."""
    return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))


def nmf(data: sp.csr_array, k: int, seed: int = 0, **options: Any) -> Answer:
    """Fit scikit-learn's NMF."""
    model = NMF(k, random_state=seed, **options)
    weights = model.fit_transform(data)
    sums = np.maximum(model.components_.sum(axis=1), 1e-12)
    weights = weights * sums
    totals = np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return model.components_ / sums[:, None], weights / totals


def nmf_kl(counts: sp.csr_array, k: int, seed: int = 0, **options: Any) -> Answer:
    """Fit scikit-learn's NMF with the Kullback-Leibler loss."""
    return nmf(counts, k, seed, beta_loss="kullback-leibler", solver="mu", **options)


def lda(counts: sp.csr_array, k: int, seed: int = 0, **options: Any) -> Answer:
    """Fit scikit-learn's LatentDirichletAllocation."""
    model = LatentDirichletAllocation(k, random_state=seed, **options)
    weights = model.fit_transform(counts)
    return model.components_ / model.components_.sum(axis=1, keepdims=True), weights


def tomotopy_lda(
    counts: sp.csr_array, k: int, seed: int = 0, *, sweeps: int = 500, **options: Any
) -> Answer:
    """Fit tomotopy's LDAModel by collapsed Gibbs sampling on one thread."""
    import tomotopy

    model = tomotopy.LDAModel(k=k, seed=seed, **options)
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:]):
        times = counts.data[start:end].astype(np.intp)
        model.add_doc(np.repeat(counts.indices[start:end], times).astype(str).tolist())
    model.train(sweeps, workers=1)
    topics = np.zeros((k, counts.shape[1]))
    order = np.array([int(word) for word in model.used_vocabs])
    topics[:, order] = np.array([model.get_topic_word_dist(topic) for topic in range(k)])
    return topics, np.array([document.get_topic_dist() for document in model.docs])


def gensim_lda(counts: sp.csr_array, k: int, seed: int = 0) -> Answer:
    """Fit gensim's LdaModel: online variational Bayes, one pass as by default."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    documents = Sparse2Corpus(counts.T.tocsc())
    words = {number: str(number) for number in range(counts.shape[1])}
    model = LdaModel(documents, num_topics=k, id2word=words, random_state=seed)
    weights = model.inference(list(documents))[0]
    return model.get_topics(), weights / weights.sum(axis=1, keepdims=True)
