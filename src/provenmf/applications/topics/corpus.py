"""Word counts as blocks of documents, validated from texts, files, frames or matrices.

Nothing else in this folder holds the counts of a whole corpus: each step is a pass over blocks that
may be in memory, on disk or on the workers of a cluster, so that memory is that of the vocabulary,
of one block, and of a few numbers for each document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.texts import (
    Tokenizer,
    as_corpus,
    count_words,
    counted_texts,
    listed,
    splitting_of,
    with_entries,
)
from provenmf.budget import announce_gathering, block_bytes, computed_once, room_for_parts
from provenmf.data import Blocks, MappedBlocks, as_blocks, is_outside_memory
from provenmf.data.disk import BLOCK_BYTES, PART_BYTES
from provenmf.data.door import examine_entries
from provenmf.errors import InvalidInput
from provenmf.io.texts import (
    Corpus,
    Counts,
    TextFile,
    as_counts,
    named_counts,
    read_counts,
)
from provenmf.linalg.norms import inverse_where_positive
from provenmf.linalg.storage import Matrix, check_scale, is_sparse

Floats = NDArray[np.float64]

ENTRY_BYTES = 12  # a double and the number of its word
# Documents with at least this many different words are near copies beyond this cosine of tf-idf.
LONG, NEARLY_EQUAL = 10, 0.9
# A repeated text has at least so many words that are in the same documents and in no other ones,
# in so many documents and in at most this share of all.
REPEATED_WORDS, REPEATS, FEW = 5, 3, 0.1
SAMPLED = 2000  # documents at most, which are compared and grouped: that takes their square


class WordCounts:
    """Counts (n_documents, n_words) as blocks of sparse rows.

    Parameters
    ----------
    counts : Blocks, sparse matrix or array
        Nonnegative. A matrix in memory is not copied.
    """

    def __init__(self, counts: Any) -> None:
        if not isinstance(counts, Blocks):
            counts = _in_parts(counts)
        self.blocks = MappedBlocks(counts, as_rows, is_sparse=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of documents and of words."""
        return self.blocks.shape

    @property
    def matrix(self) -> sp.csr_array | Blocks:
        """The counts themselves: sparse rows, or blocks if they are not in memory."""
        return self.blocks.everything() if self.blocks.in_memory else self.blocks

    @computed_once
    def _of_documents(self) -> Floats:
        return self.blocks.map_rows(document_sums)

    @property
    def lengths(self) -> Floats:
        """Number of words of each document."""
        return self._of_documents[:, 0]

    @property
    def squares(self) -> Floats:
        """Sum of the squared counts of each document."""
        return self._of_documents[:, 1]

    @property
    def different(self) -> NDArray[np.int64]:
        """Number of stored entries of each document: its different words."""
        return self._of_documents[:, 2].astype(np.int64)

    @property
    def whole(self) -> bool:
        """Whether all entries are whole numbers."""
        return bool(self._of_documents[:, 3].all())

    @computed_once
    def _of_words(self) -> Floats:
        return np.asarray(self.blocks.map_reduce(word_sums))

    @property
    def occurrences(self) -> Floats:
        """Total count of each word."""
        return np.asarray(self._of_words[0])

    @property
    def documents(self) -> NDArray[np.int64]:
        """In how many documents each word occurs."""
        return np.asarray(self._of_words[1], dtype=np.int64)

    @property
    def frequencies(self) -> Floats:
        """Share of each word among all occurrences."""
        return self.occurrences / max(float(self.occurrences.sum()), np.finfo(float).tiny)

    @computed_once
    def order(self) -> NDArray[np.intp]:
        """Return words by descending document frequency, so that products access memory locally."""
        return np.argsort(-self.documents, kind="stable")

    @computed_once
    def rank(self) -> NDArray[np.int32]:
        """Return the place of each word in that order."""
        rank = np.empty(self.shape[1], dtype=np.int32)
        rank[self.order] = np.arange(self.shape[1])
        return rank

    @computed_once
    def boilerplate(self) -> NDArray[np.bool_]:
        """Mark the words of repeated texts: signatures, tables, templates, lines of code.

        Their company is always the same few documents. Documents get random numbers, so that words
        with equal sums have equal documents. If most words are so, they are no boilerplate.
        """
        drawn = np.random.default_rng(8).random((self.shape[0], 1))
        sums = self.blocks.map_reduce(weights_beside_words, drawn)[:, 0]
        _, text, sizes = np.unique(sums, return_inverse=True, return_counts=True)
        found = (sizes[text] >= REPEATED_WORDS) & (self.documents >= REPEATS)
        found &= self.documents <= FEW * self.shape[0]
        return found & (2 * np.count_nonzero(found) < len(found))

    @computed_once
    def sample(self) -> Sample:
        """Draw documents, at most `SAMPLED`, and leave out near copies."""
        drawn, own = np.flatnonzero(self.lengths), np.where(self.boilerplate, 0.0, 1.0)
        if len(drawn) > SAMPLED:
            drawn = np.sort(np.random.default_rng(6).choice(drawn, SAMPLED, replace=False))
        rows = Sample(drawn, np.empty((0, 2), dtype=np.intp), len(drawn), own).of(self)
        unit = weighted_to_unit(rarities(WordCounts(rows)), rows).astype(np.float32)
        alike, different = sp.coo_array(unit @ unit.T), np.diff(rows.indptr)
        near = (alike.row < alike.col) & (alike.data > NEARLY_EQUAL)
        near &= (different[alike.row] >= LONG) & (different[alike.col] >= LONG)
        later, first = np.unique(alike.col[near], return_index=True)
        kept = different > 0
        kept[later] = False
        copies = np.column_stack([later, alike.row[near][first]])
        return Sample(drawn[kept], drawn[copies], len(drawn), own)

    def take(self, documents: NDArray[np.intp]) -> sp.csr_array:
        """Load the given documents into memory."""
        return sp.csr_array(self.blocks.take(documents))

    def capped(self, most: float) -> WordCounts:
        """Return the counts capped at `most`."""
        return WordCounts(MappedBlocks(self.blocks, partial(with_at_most, most)))

    def rearranged(self, places: sp.csr_array) -> WordCounts:
        """Map the counts to new words by a matrix (n_words, new words) of zeros and ones."""
        function = partial(times, places)
        return WordCounts(MappedBlocks(self.blocks, function, n_columns=places.shape[1]))

    def of_words(self, columns: NDArray[np.intp]) -> WordCounts:
        """Select counts of words, given in increasing order; counts in memory are copied once."""
        chosen = MappedBlocks(self.blocks, partial(chosen_columns, columns), n_columns=len(columns))
        return WordCounts(chosen.everything() if self.blocks.in_memory else chosen)


def _in_parts(matrix: Any) -> Blocks:
    """Split a matrix in memory into blocks as small as those of a file, to bound temporaries."""
    entries = matrix.nnz if sp.issparse(matrix) else np.size(matrix)
    parts = -(-entries * ENTRY_BYTES // block_bytes(BLOCK_BYTES))
    blocks = as_blocks(matrix, block_rows=-(-matrix.shape[0] // max(1, int(parts))))
    blocks.room_for_parts = room_for_parts(PART_BYTES)
    return blocks


def as_rows(block: Matrix) -> sp.csr_array:
    """Return a block as sparse rows."""
    return block if is_sparse(block) else sp.csr_array(block)


def by_rank(rank: NDArray[np.int32], block: sp.csr_array) -> sp.csr_array:
    """Return a block in single precision with its columns reordered by rank."""
    data = block.data.astype(np.float32)
    return sp.csr_array((data, rank[block.indices], block.indptr), shape=block.shape)


def document_sums(block: sp.csr_array) -> Floats:
    """Compute each document's length, sum of squares and entry count, and whether all are whole."""
    ones = np.ones(block.shape[1])
    whole = np.full(block.shape[0], np.all(block.data == np.floor(block.data)))
    return np.column_stack([block @ ones, squared(block) @ ones, np.diff(block.indptr), whole])


def word_sums(block: sp.csr_array) -> Floats:
    """Count the occurrences of each word and the documents that contain it."""
    size = block.shape[1]
    there = np.bincount(block.indices, block.data != 0, minlength=size)
    return np.array([np.bincount(block.indices, block.data, minlength=size), there])


def weights_beside_words(block: Matrix, weights: Floats) -> Floats:
    """Sum the weights (documents, k) of the documents that contain each word (words, k)."""
    there = sp.csr_array(block != 0, dtype=np.float64)
    return np.asarray(there.T @ weights)


def squared(block: sp.csr_array) -> sp.csr_array:
    """Return squared counts that share their indices, which scipy's power would copy."""
    return sp.csr_array((block.data**2, block.indices, block.indptr), shape=block.shape)


def with_at_most(most: float, block: sp.csr_array) -> sp.csr_array:
    """Return a block with its counts capped at `most`."""
    data = np.minimum(block.data, block.data.dtype.type(most))
    return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)


def times(right: sp.csr_array, block: sp.csr_array) -> sp.csr_array:
    """Compute block @ right with sorted indices."""
    rows = sp.csr_array(block @ right)
    rows.sort_indices()
    return rows


def chosen_columns(columns: NDArray[np.intp], block: sp.csr_array) -> sp.csr_array:
    """Select columns, given in increasing order, and drop stored zeros."""
    place = np.full(block.shape[1], -1, dtype=block.indices.dtype)
    place[columns] = np.arange(len(columns))
    found = place[block.indices]
    return with_entries(block, (found >= 0) & (block.data != 0), found, len(columns))


def without(counts: sp.csr_array, entries: NDArray[np.bool_]) -> sp.csr_array:
    """Return the counts without the given stored entries."""
    return with_entries(counts, ~entries, counts.indices, counts.shape[1])


# tf-idf, for methods that factorize documents.


def tf_idf(counts: sp.csr_array) -> sp.csr_array:
    """Return (1 + log tf) · log(n / df), rows not normalized (Nguyen22's protocol)."""
    return weighted(rarities(WordCounts(counts)), counts)


def unit_documents(counts: WordCounts) -> Blocks:
    """Return tf-idf documents scaled to unit length."""
    return MappedBlocks(counts.blocks, partial(weighted_to_unit, rarities(counts)))


@dataclass(frozen=True, eq=False)
class Sample:
    """Documents that stand for all others in a search for groups.

    Attributes
    ----------
    documents : array (n,)
        Without those that nearly repeat an earlier one of them, or have no words but boilerplate.
    copies : array (copies, 2)
        A near copy and an earlier document that it repeats.
    compared : int
        How many documents were drawn.
    own : array (n_words,)
        1 for words that count in the search, 0 for boilerplate.
    """

    documents: NDArray[np.intp]
    copies: NDArray[np.intp]
    compared: int
    own: Floats

    def of(self, counts: WordCounts) -> sp.csr_array:
        """Load these documents, without boilerplate."""
        return without(rows := counts.take(self.documents), self.own[rows.indices] == 0)


def rarities(counts: WordCounts) -> Floats:
    """Return the inverse document frequencies log(n / df)."""
    return np.asarray(np.log(counts.shape[0] / np.maximum(counts.documents, 1)))


def weighted(rarity: Floats, block: sp.csr_array) -> sp.csr_array:
    """Return the tf-idf weights of a block of counts."""
    weights = sp.csr_array(block, copy=True)
    weights.eliminate_zeros()
    weights.data = (1 + np.log(weights.data)) * rarity[weights.indices]
    return weights


def weighted_to_unit(rarity: Floats, block: sp.csr_array) -> sp.csr_array:
    """Return the tf-idf weights of a block of counts, rows scaled to unit length."""
    features = weighted(rarity, block)
    lengths = np.sqrt(features.multiply(features).sum(axis=1))
    return sp.csr_array(sp.diags_array(inverse_where_positive(lengths)) @ features)


# Counts in any form that a caller may have them.


def as_word_counts(
    documents: Any, vocabulary: Sequence[str] | None = None, **text_options: Any
) -> Counts:
    """Return counts as they are, a matrix with its vocabulary, or the counted words of texts.

    The words of a frame of counts are the names of its columns. Counts that are not in memory, such
    as a Dask array, stay there.

    text_options : of `count_words`; counts take none.
    """
    documents = opened(documents)
    if are_texts(documents):
        return count_words(as_corpus(documents), vocabulary=vocabulary, **text_options)
    if text_options:
        name = next(iter(text_options))
        raise InvalidInput(
            f"{name} is about texts, but documents holds counts: leave it out, or give texts"
        )
    if isinstance(documents, Counts):
        return documents
    if isinstance(documents, Path):
        found = read_counts(documents)
        return found if vocabulary is None else named_counts(found.matrix, vocabulary)
    outside = isinstance(documents, Blocks) or is_outside_memory(documents)
    axes = getattr(documents, "ndim", 2)
    if outside and isinstance(axes, int) and axes != 2:  # a delayed object has every attribute
        raise InvalidInput(
            f"documents is an array with {documents.ndim} axes that is not in memory: give "
            "counts (documents, words), or texts in memory"
        )
    blocks = as_blocks(documents) if outside else None  # raises an error unless it is a matrix
    if vocabulary is None and hasattr(documents, "columns"):
        vocabulary = [str(word) for word in documents.columns]
    if blocks is not None:
        return blocks_of_counts(blocks, vocabulary)
    return as_counts(documents, vocabulary, where="documents")


def opened(documents: Any) -> Any:
    """Return documents, those of an iterator as a list; refuse a mapping and an empty list."""
    if isinstance(documents, Iterator):
        documents = list(documents)
    if isinstance(documents, Mapping) or (isinstance(documents, list | tuple) and not documents):
        raise InvalidInput(
            f"documents is {'a mapping' if isinstance(documents, Mapping) else 'empty'}: give a "
            "list of texts, or counts (documents, words)"
        )
    return documents


def blocks_of_counts(
    blocks: Blocks,
    vocabulary: Sequence[str] | None,
    *,
    where: str = "documents",
    source: str = "vocabulary",
) -> Counts:
    """Validate counts outside memory in one pass and join them with their vocabulary."""
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
    if isinstance(documents, str):
        raise InvalidInput("documents is one text: give a list of texts, or read_texts of a path")
    if isinstance(documents, Corpus | TextFile):
        return True
    if isinstance(documents, Path | Blocks) or is_outside_memory(documents):
        return False
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
    """Count the words of a vocabulary (documents, words), and list those missing from the data.

    With `columns`, a matrix without names has these words there.
    """
    documents = opened(documents)
    if are_texts(documents):
        texts, words = as_corpus(documents), vocabulary.tolist()
        splitting = splitting_of(None, words, texts, tokenizer=tokenizer)
        return WordCounts(counted_texts(texts, splitting)[0].matrix(words)), []
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
    """Load all counts into memory for steps that need them; announce or refuse large ones."""
    if not counts.blocks.in_memory:
        size = float(counts.blocks.stored_entries) * ENTRY_BYTES
        announce_gathering(who, counts.shape, size)
    return sp.csr_array(counts.blocks.everything())


def usable_columns(counts: WordCounts) -> NDArray[np.intp]:
    """Return the words in at least two but not all documents; no other word can carry a topic."""
    n_documents = counts.shape[0]
    if n_documents < 2:
        raise InvalidInput(f"the corpus has {n_documents} document: topics need at least two")
    kept = np.flatnonzero((counts.documents >= 2) & (counts.documents < n_documents))
    if not len(kept):
        raise InvalidInput(
            "no word occurs in two documents but not in all: use longer or more documents"
        )
    return kept


def usable_words(corpus: Counts) -> tuple[WordCounts, NDArray[np.intp], Counts]:
    """Return counts of the usable words, their columns, and the corpus without other words.

    The corpus gets a note about words that are left out.
    """
    counts = WordCounts(corpus.matrix)
    kept, notes = usable_columns(counts), corpus.notes
    if len(kept) < counts.shape[1]:
        dropped = np.delete(corpus.vocabulary, kept)
        notes += (f"{listed(dropped)} in fewer than two or in all documents left out",)
        counts = counts.of_words(kept)
    words = corpus.vocabulary[kept]
    return counts, kept, replace(corpus, matrix=counts.matrix, vocabulary=words, notes=notes)
