"""Rival topic models behind one call: a `Task` and a seed in, the topic of each document out.

Settings are the defaults of each package, except for what the docstring names. A package that is
not installed makes its function raise ImportError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer

Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Task:
    """The counts (documents, words), the words, and the number of topics to find."""

    counts: sp.csr_array
    vocabulary: list[str]
    k: int

    def tf_idf(self) -> sp.csr_array:
        """Return rows of unit length, as scikit-learn's guide recommends for NMF."""
        return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(self.counts))


def _nmf_labels(model: NMF, data: sp.csr_array) -> Labels:
    weights = model.fit_transform(data)
    return (weights * model.components_.sum(axis=1)).argmax(axis=1)


def nmf_tf_idf(task: Task, seed: int) -> Labels:
    """Fit scikit-learn's NMF to tf-idf."""
    return _nmf_labels(NMF(task.k, random_state=seed), task.tf_idf())


def nmf_kl(task: Task, seed: int) -> Labels:
    """Fit scikit-learn's NMF to the counts, beta_loss="kullback-leibler"."""
    model = NMF(task.k, beta_loss="kullback-leibler", solver="mu", random_state=seed)
    return _nmf_labels(model, task.counts)


def lda(task: Task, seed: int) -> Labels:
    """Fit scikit-learn's LatentDirichletAllocation to the counts."""
    model = LatentDirichletAllocation(task.k, random_state=seed)
    return model.fit_transform(task.counts).argmax(axis=1)


def tomotopy_lda(task: Task, seed: int) -> Labels:
    """Fit tomotopy's LDAModel to the counts, 500 sweeps, one thread."""
    import tomotopy

    model = tomotopy.LDAModel(k=task.k, seed=seed)
    words = np.array(task.vocabulary)
    for start, end in zip(task.counts.indptr[:-1], task.counts.indptr[1:]):
        times = task.counts.data[start:end].astype(np.intp)
        model.add_doc(np.repeat(words[task.counts.indices[start:end]], times).tolist())
    model.train(500, workers=1)
    return np.array([document.get_topic_dist() for document in model.docs]).argmax(axis=1)
