"""Topic models behind one call: counts in, the topic of each document and the top words out.

Each function takes a `Task` and a seed. Settings are the defaults of each package, except for what
its docstring names. A package that is not installed makes its function raise ImportError.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer

from provenmf.metrics.topics import top_words
from provenmf.results import Certificate

N_WORDS = 10


@dataclass(frozen=True, eq=False)
class Task:
    """The counts (documents, words), the words, and how many topics to find."""

    counts: sp.csr_array
    vocabulary: list[str]
    k: int

    def tf_idf(self) -> sp.csr_array:
        """Rows of unit length, as scikit-learn's guide recommends for NMF."""
        return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(self.counts))

    def texts(self) -> list[str]:
        """Each document as a text that has its words as often as counted."""
        words = np.array(self.vocabulary)
        pairs = zip(self.counts.indptr[:-1], self.counts.indptr[1:])
        return [
            " ".join(np.repeat(words[self.counts.indices[a:b]], _times(self.counts, a, b)))
            for a, b in pairs
        ]


def _times(counts: sp.csr_array, start: int, end: int) -> NDArray[np.intp]:
    return counts.data[start:end].astype(np.intp)


@dataclass(frozen=True, eq=False)
class Found:
    """The topic of each document (−1: none), the top words as columns, and what is certified."""

    labels: NDArray[np.intp]
    words: NDArray[np.intp]
    certificate: Certificate | None = None


def _from_factors(weights, topics, certificate=None) -> Found:
    scaled = weights * topics.sum(axis=1)
    return Found(scaled.argmax(axis=1), top_words(topics, N_WORDS), certificate)


def provenmf_topics(task: Task, seed: int) -> Found:
    """find_topics on the counts."""
    from provenmf import find_topics

    found = find_topics(task.counts, task.k, random_state=seed)
    words = found.word_columns[found.top_columns(N_WORDS)]
    return Found(found.document_weights.argmax(axis=1), words, found.certificate)


def provenmf_hals(task: Task, seed: int) -> Found:
    """HALS on tf-idf."""
    from provenmf import HALS

    model = HALS(task.k, random_state=seed)
    weights = model.fit_transform(task.tf_idf())
    return _from_factors(weights, model.components_, model.certificate_)


def scikit_learn_nmf(task: Task, seed: int) -> Found:
    """NMF on tf-idf."""
    from sklearn.decomposition import NMF

    model = NMF(task.k, random_state=seed)
    return _from_factors(model.fit_transform(task.tf_idf()), model.components_)


def scikit_learn_nmf_kl(task: Task, seed: int) -> Found:
    """NMF on the counts, beta_loss="kullback-leibler"."""
    from sklearn.decomposition import NMF

    model = NMF(task.k, beta_loss="kullback-leibler", solver="mu", random_state=seed)
    return _from_factors(model.fit_transform(task.counts), model.components_)


def scikit_learn_lda(task: Task, seed: int) -> Found:
    """LatentDirichletAllocation on the counts."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(task.k, random_state=seed)
    weights = model.fit_transform(task.counts)
    return Found(weights.argmax(axis=1), top_words(model.components_, N_WORDS))


def gensim_lda(task: Task, seed: int) -> Found:
    """LdaModel on the counts, passes=10."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    documents = list(Sparse2Corpus(task.counts.T.tocsc()))
    names = dict(enumerate(task.vocabulary))
    model = LdaModel(documents, num_topics=task.k, id2word=names, passes=10, random_state=seed)
    weights = model.inference(documents)[0]
    return Found(weights.argmax(axis=1), top_words(model.get_topics(), N_WORDS))


def tomotopy_lda(task: Task, seed: int) -> Found:
    """LDAModel on the counts, 500 sweeps, one thread."""
    import tomotopy

    model = tomotopy.LDAModel(k=task.k, seed=seed)
    for text in task.texts():
        model.add_doc(text.split())
    model.train(500, workers=1)
    column = {word: number for number, word in enumerate(task.vocabulary)}
    order = np.array([column[word] for word in model.used_vocabs])
    topics = np.array([model.get_topic_word_dist(topic) for topic in range(task.k)])
    weights = np.array([document.get_topic_dist() for document in model.docs])
    return Found(weights.argmax(axis=1), order[top_words(topics, N_WORDS)])


def bertopic(task: Task, seed: int) -> Found:
    """BERTopic without a language model: tf-idf and TruncatedSVD(100) as its embedding model.

    This is the scikit-learn backend of its guide. UMAP has the default settings of BERTopic and a
    seed; nr_topics is one more than asked for, because one of them holds the outliers.
    """
    from bertopic import BERTopic
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from umap import UMAP

    embedding = make_pipeline(TfidfVectorizer(), TruncatedSVD(100, random_state=seed))
    reduction = UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed
    )
    model = BERTopic(embedding_model=embedding, umap_model=reduction, nr_topics=task.k + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, _ = model.fit_transform(task.texts())
    column = {word: number for number, word in enumerate(task.vocabulary)}
    topics = sorted(topic for topic in model.get_topics() if topic >= 0)
    words = [[column[word] for word, _ in model.get_topic(topic) if word] for topic in topics]
    shortest = min(len(row) for row in words)
    return Found(np.array(labels), np.array([row[:shortest] for row in words]))


MODELS: dict[str, Callable[[Task, int], Found]] = {
    "provenmf `find_topics`": provenmf_topics,
    "provenmf `HALS`": provenmf_hals,
    "scikit-learn `NMF`": scikit_learn_nmf,
    "scikit-learn `NMF`, Kullback–Leibler": scikit_learn_nmf_kl,
    "scikit-learn LDA": scikit_learn_lda,
    "gensim LDA": gensim_lda,
    "tomotopy LDA": tomotopy_lda,
    "BERTopic, tf-idf embedding": bertopic,
}
