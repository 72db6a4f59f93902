"""From texts to word counts, and from counts to features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from provenmf.applications.stop_words import stop_words_of, without_contractions
from provenmf.applications.text_notices import text_notices
from provenmf.errors import InvalidInput
from provenmf.io.texts import Corpus, Counts, as_counts

# Words of letters, digits allowed after the first letter; single letters say little.
WORD = r"(?u)\b[^\W\d_][\w'-]*\w\b"

# A file with one of these endings holds counts, not texts.
COUNT_ENDINGS = (".npz", ".npy", ".mtx", ".mat", ".h5ad", ".mtx.gz")


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
    stop_words : "english", "german", "french", "spanish", "italian", "portuguese", "dutch", a list
        of words, or None.
    max_words : keep only the most frequent words.
    vocabulary : count these words, in this order, and ignore the options above.

    Returns
    -------
    Counts

    Examples
    --------
    >>> from provenmf.applications import count_words
    >>> counts = count_words(["ship and sail", "sail the ship", "bread"], max_share=1.0)
    >>> counts.vocabulary.tolist(), counts.matrix.toarray().tolist()
    (['sail', 'ship'], [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    """
    if not isinstance(corpus, Corpus):
        corpus = Corpus(list(corpus), [f"document {n}" for n in range(1, len(corpus) + 1)])
    if len(corpus.texts) < 2:
        raise InvalidInput(
            f"the corpus has {len(corpus.texts)} document: topics need at least two, "
            "for example one a line or one a file"
        )
    vectorizer = _counter(
        stop_words=stop_words_of(stop_words),
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
    notes = (*corpus.notes, *text_notices(corpus.texts, counts, words))
    return Counts(counts, words, corpus.texts, corpus.names, notes)


def _counter(*, vocabulary: list[str] | None = None, **options: Any) -> CountVectorizer:
    """Splits texts into words as all counts here do.

    Contractions are taken apart unless they are words of the vocabulary.
    """
    whole = any(without_contractions(word) != word.lower() for word in vocabulary or ())
    return CountVectorizer(
        preprocessor=str.lower if whole else without_contractions,
        token_pattern=WORD,
        vocabulary=vocabulary,
        **options,
    )


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


def counts_of_words(
    documents: object, vocabulary: NDArray[np.str_], columns: NDArray[np.intp] | None = None
) -> tuple[sp.csr_array, list[str]]:
    """Counts (documents, words) of the words of a vocabulary, and those that the data lack.

    With `columns`, a matrix without names has these words there.
    """
    if are_texts(documents):
        texts = documents.texts if isinstance(documents, Corpus) else documents
        counter = _counter(vocabulary=[str(word) for word in vocabulary])
        return sp.csr_array(counter.transform(texts)).astype(np.float64), []
    counts = as_word_counts(documents)
    named = isinstance(documents, Counts) or hasattr(documents, "columns")
    if columns is not None and not named:
        if counts.matrix.shape[1] <= columns.max():
            raise InvalidInput(
                f"data has {counts.matrix.shape[1]} columns, but the words are in columns up to "
                f"{columns.max()}: give the columns that the topics were found in, or names"
            )
        return sp.csr_array(counts.matrix[:, columns]), []
    place = {str(word): number for number, word in enumerate(counts.vocabulary)}
    words = [str(word) for word in vocabulary]
    there = [number for number, word in enumerate(words) if word in place]
    pairs = ([place[words[number]] for number in there], there)
    chosen = sp.csr_array((np.ones(len(there)), pairs), shape=(counts.matrix.shape[1], len(words)))
    matrix = sp.csr_array(counts.matrix @ chosen)
    matrix.sort_indices()
    return matrix, [word for word in words if word not in place]


def is_count_matrix(path: Path, vocabulary: Path | None = None) -> bool:
    """Whether the path names a matrix of counts rather than texts."""
    return vocabulary is not None or path.name.lower().endswith(COUNT_ENDINGS)


def rarity_of(counts: sp.csr_array) -> NDArray[np.float64]:
    """log(n / df) of each word."""
    documents = np.maximum(document_frequency(counts), 1)
    return np.asarray(np.log(counts.shape[0] / documents))


def tf_idf(counts: sp.csr_array, rarity: NDArray[np.float64] | None = None) -> sp.csr_array:
    """(1 + log tf) · log(n / df), rows not normalised (Nguyen22's protocol).

    `rarity` is that of other documents, for weights of new ones.
    """
    weighted = sp.csr_array(counts, copy=True)
    weighted.eliminate_zeros()
    rarity = rarity_of(weighted) if rarity is None else rarity
    weighted.data = (1 + np.log(weighted.data)) * rarity[weighted.indices]
    return weighted


def document_frequency(counts: sp.csr_array) -> NDArray[np.int64]:
    """In how many documents each word occurs."""
    return np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
