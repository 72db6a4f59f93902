"""From texts to counts of words: what is counted, and which words are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from provenmf.applications.topics.counting import Splitting, WordCounter
from provenmf.applications.topics.notices import text_notices
from provenmf.applications.topics.stop_words import stop_words_of, without_contractions
from provenmf.errors import InvalidInput
from provenmf.io.convert import RowStream, write_rows
from provenmf.io.texts import (
    Corpus,
    Counts,
    TextFile,
    no_text,
)


def count_words(
    corpus: Corpus | TextFile | Sequence[str],
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    stop_words: str | Sequence[str] | None = "english",
    max_words: int | None = None,
    vocabulary: Sequence[str] | None = None,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Count the words of each document.

    Parameters
    ----------
    corpus : from `read_texts`, or a list of texts; a `TextFile` is read as it is counted, so that
        its texts need not fit into memory.
    min_documents : words in fewer documents are left out.
    max_share : words in a larger share of the documents are left out.
    stop_words : "english", "german", "french", "spanish", "italian", "portuguese", "dutch", a list
        of words, or None.
    max_words : keep only the most frequent words.
    vocabulary : count these words, in this order, and ignore the options above.
    n_jobs : processes that count. A script that asks for more than one must protect its entry
        point by ``if __name__ == "__main__"``, as Python's multiprocessing requires.
    progress : called with the number of documents counted so far.

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
    counter = WordCounter(splitting_of(stop_words, vocabulary, corpus))
    texts, names, notes = texts_of(corpus)
    counter.add(texts, n_jobs, progress)
    words = chosen_words(counter, corpus, min_documents, max_share, max_words)
    matrix = counter.matrix(words)
    known = np.array(words, dtype=np.str_)
    notices = text_notices(counter.mails, counter.attachments, matrix, known)
    kept = corpus.texts if isinstance(corpus, Corpus) else corpus
    return Counts(matrix, known, kept, names, (*notes, *notices))


def write_counts(
    corpus: Corpus | TextFile | Sequence[str],
    target: Path,
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    stop_words: str | Sequence[str] | None = "english",
    max_words: int | None = None,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Count words as `count_words` does and write the counts as rows on disk; see `convert`."""
    counter = WordCounter(splitting_of(stop_words, None, corpus))
    texts, names, _ = texts_of(corpus)
    counter.add(texts, n_jobs, progress)
    words = chosen_words(counter, corpus, min_documents, max_share, max_words)
    blocks = (block.astype(np.int32) for block in counter.rows(words))
    return write_rows(RowStream(len(words), blocks, list(names), words), target)


def chosen_words(
    counter: WordCounter,
    corpus: object,
    min_documents: int,
    max_share: float,
    max_words: int | None,
) -> list[str]:
    """The words that are left when rare and frequent ones are taken out of what was counted."""
    n_texts = counter.n_texts
    if isinstance(corpus, TextFile) and counter.blank == n_texts:
        raise no_text(corpus.path)
    if n_texts < 2:
        raise InvalidInput(
            f"the corpus has {n_texts} document: topics need at least two, "
            "for example one per line or one per file"
        )
    if not 0 <= max_share <= 1:
        raise InvalidInput(
            "is not a share", argument="max_share", value=max_share, remedy="use 0 to 1"
        )
    least = min(min_documents, n_texts)
    words = counter.vocabulary(least, max(max_share * n_texts, least), max_words)
    if not words:
        raise InvalidInput(
            f"no word is left of {n_texts} documents: use texts with words other than "
            f"stop words that occur in at least {min_documents} documents"
        )
    return words


def texts_of(
    corpus: Corpus | TextFile | Sequence[str],
) -> tuple[Iterable[str], list[str] | Sequence[str], list[str] | tuple[str, ...]]:
    """Texts, and the lists to which a file adds names and notes as it is read."""
    if isinstance(corpus, TextFile):
        names: list[str] = []
        notes: list[str] = []
        return corpus.texts(names, notes), names, notes
    if isinstance(corpus, Corpus):
        return corpus.texts, corpus.names, corpus.notes
    return corpus, [f"document {n}" for n in range(1, len(corpus) + 1)], ()


def splitting_of(
    stop_words: str | Sequence[str] | None,
    vocabulary: Sequence[str] | None,
    corpus: object = None,
) -> Splitting:
    """Texts are split into words as all counts here do it.

    Contractions are taken apart unless they are words of the vocabulary.
    """
    mail = isinstance(corpus, TextFile) and corpus.mail
    if vocabulary is None:
        return Splitting(frozenset(stop_words_of(stop_words) or ()), mail=mail)
    words = tuple(str(word) for word in vocabulary)
    if len(set(words)) < len(words):
        twice = next(word for word in words if words.count(word) > 1)
        raise InvalidInput(f"vocabulary has {twice!r} twice: give every word once")
    whole = any(without_contractions(word) != word.lower() for word in words)
    return Splitting(vocabulary=words, whole=whole, mail=mail)
