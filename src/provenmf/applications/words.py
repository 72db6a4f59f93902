"""From texts to word counts, and from counts to features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from provenmf.errors import InvalidInput
from provenmf.io.texts import Corpus, Counts, as_counts

# Words of letters, digits allowed after the first letter; single letters say little.
WORD = r"(?u)\b[^\W\d_][\w'-]*\w\b"


def count_words(
    corpus: Corpus | Sequence[str],
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    stop_words: str | Sequence[str] | None = "english",
    max_words: int | None = None,
    vocabulary: Sequence[str] | None = None,
) -> Counts:
    """Count the words of each document.

    Parameters
    ----------
    corpus : from `read_texts`, or a list of texts.
    min_documents : words in fewer documents are left out.
    max_share : words in a larger share of the documents are left out.
    stop_words : "english", a list of words, or None.
    max_words : keep only the most frequent words.
    vocabulary : count these words, in this order, and ignore the options above.
    """
    if not isinstance(corpus, Corpus):
        corpus = Corpus(list(corpus), [f"document {n}" for n in range(len(corpus))])
    if len(corpus.texts) < 2:
        raise InvalidInput(
            f"the corpus has {len(corpus.texts)} document: topics need at least two, "
            "for example one a line or one a file"
        )
    vectorizer = CountVectorizer(
        lowercase=True,
        token_pattern=WORD,
        stop_words=stop_words if stop_words in (None, "english") else list(stop_words),
        min_df=min(min_documents, len(corpus.texts)),
        max_df=max(max_share, min_documents / len(corpus.texts)),
        max_features=max_words,
        vocabulary=None if vocabulary is None else [str(word) for word in vocabulary],
    )
    try:
        matrix = vectorizer.fit_transform(corpus.texts)
    except ValueError as error:
        raise InvalidInput(
            f"no word is left of {len(corpus.texts)} documents: use texts with words other than "
            f"stop words that occur in at least {min_documents} documents"
        ) from error
    words = np.array(vectorizer.get_feature_names_out(), dtype=np.str_)
    counts = sp.csr_array(matrix).astype(np.float64)
    return Counts(counts, words, corpus.texts, corpus.names, corpus.notes)


def as_word_counts(documents: Any, vocabulary: Sequence[str] | None = None) -> Counts:
    """Counts as they are, a matrix of counts with its vocabulary, or the counted words of texts.

    The words of a frame of counts are the names of its columns.
    """
    if isinstance(documents, Counts):
        return documents
    if are_texts(documents):
        return count_words(documents, vocabulary=vocabulary)
    if vocabulary is None and hasattr(documents, "columns"):
        vocabulary = [str(word) for word in documents.columns]
    return as_counts(documents, vocabulary, where="documents")


def are_texts(documents: Any) -> bool:
    """Whether documents is a corpus, or a list, array or series of strings."""
    if isinstance(documents, str):
        raise InvalidInput("documents is one text: give a list of texts, or read_texts of a path")
    if isinstance(documents, Corpus):
        return True
    in_a_row = getattr(documents, "ndim", 1) == 1 and hasattr(documents, "__len__")
    return in_a_row and all(isinstance(text, str) for text in documents)


def tf_idf(counts: sp.csr_array) -> sp.csr_array:
    """(1 + log tf) · log(n / df), rows not normalised (Nguyen22's protocol)."""
    weighted = sp.csr_array(counts, copy=True)
    weighted.eliminate_zeros()
    documents = np.bincount(weighted.indices, minlength=weighted.shape[1])
    rarity = np.log(weighted.shape[0] / np.maximum(documents, 1))
    weighted.data = (1 + np.log(weighted.data)) * rarity[weighted.indices]
    return weighted


def document_frequency(counts: sp.csr_array) -> np.ndarray:
    """In how many documents each word occurs."""
    return np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
