"""Accept word counts in any form: texts, files, frames, matrices, blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus import ENTRY_BYTES, WordCounts
from provenmf.applications.topics.texts import (
    Tokenizer,
    WordCounter,
    checked_texts,
    count_words,
    in_order,
    splitting_of,
    texts_of,
)
from provenmf.budget import announce_gathering
from provenmf.data import Blocks, as_blocks, is_outside_memory
from provenmf.data.door import examine_entries
from provenmf.errors import InvalidInput, counted
from provenmf.io.files import existing
from provenmf.io.rows import open_sparse_rows
from provenmf.io.texts import (
    Corpus,
    Counts,
    TextFile,
    as_counts,
    named_counts,
    read_counts,
    read_vocabulary,
)
from provenmf.linalg.storage import check_scale

# A file with one of these endings holds counts, not texts.
COUNT_ENDINGS = (".npz", ".npy", ".mtx", ".mat", ".h5ad", ".mtx.gz")


def refuse_nothing(documents: object) -> None:
    """Refuse a mapping and an empty list, which are neither texts nor counts."""
    if isinstance(documents, Mapping) or (isinstance(documents, list | tuple) and not documents):
        raise InvalidInput(
            f"documents is {'a mapping' if isinstance(documents, Mapping) else 'empty'}: give a "
            "list of texts, or counts (documents, words)"
        )


def as_word_counts(
    documents: Any, vocabulary: Sequence[str] | None = None, **text_options: Any
) -> Counts:
    """Return counts as they are, a matrix with its vocabulary, or the counted words of texts.

    The words of a frame of counts are the names of its columns. Counts that are not in memory, such
    as a Dask array or the path of a file of sparse rows, stay where they are.

    text_options : of `count_words`; counts take none.
    """
    if isinstance(documents, Iterator):
        documents = list(documents)
    refuse_nothing(documents)
    outside = isinstance(documents, Blocks | Path)
    outside = outside or (is_outside_memory(documents) and not isinstance(documents, str))
    if not outside and not isinstance(documents, Counts) and are_texts(documents):
        if not isinstance(documents, Corpus | TextFile):
            documents = checked_texts(documents)
        return count_words(documents, vocabulary=vocabulary, **text_options)
    if text_options:
        name = next(iter(text_options))
        raise InvalidInput(
            f"{name} is about texts, but documents holds counts: leave it out, or give texts"
        )
    if vocabulary is not None:
        vocabulary = in_order(vocabulary)
    if isinstance(documents, Counts):
        return documents
    if isinstance(documents, Path):
        found = counts_at(documents)
        return found if vocabulary is None else named_counts(found.matrix, vocabulary)
    axes = getattr(documents, "ndim", 2)
    if outside and isinstance(axes, int) and axes != 2:  # a delayed object answers to any name
        raise InvalidInput(
            f"documents is an array with {documents.ndim} axes that is not in memory: give "
            "counts (documents, words), or texts in memory"
        )
    blocks = as_blocks(documents) if outside else None  # refuses what is no matrix
    if vocabulary is None and hasattr(documents, "columns"):
        vocabulary = [str(word) for word in documents.columns]
    if blocks is not None:
        return blocks_of_counts(blocks, vocabulary)
    return as_counts(documents, vocabulary, where="documents")


def counts_at(path: Path, vocabulary: Path | None = None, key: str | None = None) -> Counts:
    """Counts in a file, as `read_counts` has them; but sparse rows on disk stay there."""
    on_disk = path.suffix.lower() == ".npz" and key is None
    rows = open_sparse_rows(existing(path)) if on_disk else None
    if rows is None:
        return read_counts(path, vocabulary, key=key)
    names, words = rows.names()
    source = "its names"
    if vocabulary is not None:
        words, source = read_vocabulary(vocabulary), str(vocabulary)
    counts = blocks_of_counts(as_blocks(path), words, where=str(path), source=source)
    return replace(counts, names=names)


def blocks_of_counts(
    blocks: Blocks,
    vocabulary: Sequence[str] | None,
    *,
    where: str = "documents",
    source: str = "vocabulary",
) -> Counts:
    """Check counts that are not in memory, in one pass, and put them with their vocabulary."""
    found = examine_entries(blocks)
    if found.invalid:
        raise InvalidInput(
            f"{where} has entries that are not finite numbers{found.where}: remove them"
        )
    if found.negative:
        raise InvalidInput(f"{where} has negative entries: word counts are needed")
    check_scale(found.largest, where)
    return named_counts(blocks, vocabulary, where=where, source=source)


def are_texts(documents: Any) -> bool:
    """Return whether documents is a corpus, or a list, array or series of texts."""
    if isinstance(documents, Path | Blocks):
        return False
    if isinstance(documents, str):
        raise InvalidInput("documents is one text: give a list of texts, or read_texts of a path")
    if isinstance(documents, Corpus | TextFile):
        return True
    if getattr(documents, "ndim", 1) == 2 and hasattr(documents, "columns"):
        texts = [str(name) for name, kind in documents.dtypes.items() if kind.kind not in "biuf"]
        if texts:
            raise InvalidInput(
                f"documents is a table with texts in {', '.join(texts)}: give one column, as in "
                f"documents[{texts[0]!r}], or a table of counts"
            )
        return False
    if getattr(documents, "ndim", 1) != 1 or not hasattr(documents, "__len__"):
        return False
    return any(isinstance(text, str) for text in documents)


def counts_of_words(
    documents: Any,
    vocabulary: NDArray[np.str_],
    columns: NDArray[np.intp] | None = None,
    tokenizer: Tokenizer | None = None,
) -> tuple[WordCounts, list[str]]:
    """Counts (documents, words) of the words of a vocabulary, and those that the data lack.

    With `columns`, a matrix without names has these words there.
    """
    if isinstance(documents, Iterator):
        documents = list(documents)
    refuse_nothing(documents)
    if not isinstance(documents, Counts) and are_texts(documents):
        if not isinstance(documents, Corpus | TextFile):
            documents = checked_texts(documents)
        splitting = splitting_of(None, vocabulary.tolist(), documents, tokenizer=tokenizer)
        counter = WordCounter(splitting)
        counter.add(texts_of(documents)[0])
        return WordCounts(counter.matrix(vocabulary.tolist())), []
    given = as_word_counts(documents)
    counts = WordCounts(given.matrix)
    named = isinstance(documents, Counts) or hasattr(documents, "columns")
    if columns is not None and not named:
        if counts.shape[1] <= columns.max():
            raise InvalidInput(
                f"data has {counts.shape[1]} columns, but the words are in columns up to "
                f"{columns.max()}: give the columns that the topics were found in, or names"
            )
        return counts.of_words(columns), []
    place = {str(word): number for number, word in enumerate(given.vocabulary)}
    words = [str(word) for word in vocabulary]
    there = [number for number, word in enumerate(words) if word in place]
    pairs = ([place[words[number]] for number in there], there)
    chosen = sp.csr_array((np.ones(len(there)), pairs), shape=(counts.shape[1], len(words)))
    return counts.rearranged(chosen), [word for word in words if word not in place]


def whole_matrix(counts: WordCounts, who: str) -> sp.csr_array:
    """All counts in memory, for steps that must hold them; said, or refused, if they are many."""
    if not counts.blocks.in_memory:
        size = float(counts.blocks.stored_entries) * ENTRY_BYTES
        announce_gathering(who, counts.shape, size)
    return sp.csr_array(counts.blocks.everything())


def is_count_matrix(path: Path, vocabulary: Path | None = None) -> bool:
    """Whether the path names a matrix of counts rather than texts."""
    return vocabulary is not None or path.name.lower().endswith(COUNT_ENDINGS)


def usable_words(counts: WordCounts) -> tuple[NDArray[np.intp], list[str]]:
    """Words in at least two documents but not in all; nothing else can carry a topic."""
    n_documents = counts.shape[0]
    if n_documents < 2:
        raise InvalidInput(f"the corpus has {n_documents} document: topics need at least two")
    documents = counts.documents
    kept = np.flatnonzero((documents >= 2) & (documents < n_documents))
    if not len(kept):
        raise InvalidInput(
            "no word occurs in two documents but not in all: use longer or more documents"
        )
    notes = []
    if len(kept) < len(documents):
        dropped = len(documents) - len(kept)
        notes.append(f"{counted(dropped, 'word')} in fewer than two or in all documents left out")
    return kept, notes
