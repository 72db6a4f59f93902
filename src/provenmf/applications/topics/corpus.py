"""Word counts as blocks of documents, and what a pass or two tells about all of them.

Nothing else in this folder holds the counts of a whole corpus: each step is a pass over blocks that
may be in memory, on disk or on the workers of a cluster, so that memory is that of the vocabulary,
of one block, and of a few numbers for each document.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import block_bytes, computed_once, room_for_parts
from provenmf.data import Blocks, MappedBlocks, as_blocks
from provenmf.data.disk import BLOCK_BYTES, PART_BYTES
from provenmf.linalg.storage import Matrix, is_sparse

Floats = NDArray[np.float64]

BUNDLE = 10  # words in exactly the same documents that cannot be there by chance
ENTRY_BYTES = 12  # a double and the number of its word


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
        """How often each word occurs."""
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
        """Words, the most frequent first: products find them close together in memory."""
        return np.argsort(-self.documents, kind="stable")

    @computed_once
    def rank(self) -> NDArray[np.int32]:
        """Place of each word in that order."""
        rank = np.empty(self.shape[1], dtype=np.int32)
        rank[self.order] = np.arange(self.shape[1])
        return rank

    def take(self, documents: NDArray[np.intp]) -> sp.csr_array:
        """Some of the documents, here."""
        return sp.csr_array(self.blocks.take(documents))

    def capped(self, most: float) -> WordCounts:
        """Counts above `most` taken as that."""
        return WordCounts(MappedBlocks(self.blocks, partial(with_at_most, most)))

    def rearranged(self, places: sp.csr_array) -> WordCounts:
        """Counts of other words: times a matrix (n_words, new words) of zeros and ones."""
        function = partial(times, places)
        return WordCounts(MappedBlocks(self.blocks, function, n_columns=places.shape[1]))

    def of_words(self, columns: NDArray[np.intp]) -> WordCounts:
        """Counts of some of the words, increasing; in memory they are copied once."""
        chosen = MappedBlocks(self.blocks, partial(chosen_columns, columns), n_columns=len(columns))
        if not self.blocks.in_memory:
            return WordCounts(chosen)
        return WordCounts(_assembled(chosen, int(self.documents[columns].sum())))


def _assembled(blocks: Blocks, entries: int) -> sp.csr_array:
    """All blocks as one matrix of so many entries, without a second copy of them."""
    data, indices = np.empty(entries, blocks.dtype), np.empty(entries, np.int32)
    pointers, filled = np.zeros(blocks.n_rows + 1, np.int64), 0
    for start, stop, block in blocks.each(as_rows):
        data[filled : filled + block.nnz] = block.data
        indices[filled : filled + block.nnz] = block.indices
        pointers[start + 1 : stop + 1] = filled + block.indptr[1:]
        filled += block.nnz
    return sp.csr_array((data, indices, pointers), shape=blocks.shape)


def _in_parts(matrix: Any) -> Blocks:
    """Blocks of a matrix in memory as small as those of a file, to keep what is computed small."""
    entries = matrix.nnz if sp.issparse(matrix) else np.size(matrix)
    parts = -(-entries * ENTRY_BYTES // block_bytes(BLOCK_BYTES))
    blocks = as_blocks(matrix, block_rows=-(-matrix.shape[0] // max(1, int(parts))))
    blocks.room_for_parts = room_for_parts(PART_BYTES)
    return blocks


def as_rows(block: Matrix) -> sp.csr_array:
    """Sparse rows, whatever the block is."""
    return block if is_sparse(block) else sp.csr_array(block)


def by_rank(rank: NDArray[np.int32], block: sp.csr_array) -> sp.csr_array:
    """A block in single precision with its words in another order."""
    data = block.data.astype(np.float32)
    return sp.csr_array((data, rank[block.indices], block.indptr), shape=block.shape)


def document_sums(block: sp.csr_array) -> Floats:
    """For each document its length, sum of squares, number of entries, whether all are whole."""
    ones = np.ones(block.shape[1])
    whole = np.full(block.shape[0], np.all(block.data == np.floor(block.data)))
    return np.column_stack([block @ ones, squared(block) @ ones, np.diff(block.indptr), whole])


def word_sums(block: sp.csr_array) -> Floats:
    """For each word its occurrences, and the documents that have it."""
    size = block.shape[1]
    there = np.bincount(block.indices, block.data != 0, minlength=size)
    return np.array([np.bincount(block.indices, block.data, minlength=size), there])


def squared(block: sp.csr_array) -> sp.csr_array:
    """Squared counts; indices are shared, which scipy's own would copy."""
    return sp.csr_array((block.data**2, block.indices, block.indptr), shape=block.shape)


def with_at_most(most: float, block: sp.csr_array) -> sp.csr_array:
    """Counts above `most` taken as that."""
    data = np.minimum(block.data, block.data.dtype.type(most))
    return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)


def times(right: sp.csr_array, block: sp.csr_array) -> sp.csr_array:
    """block @ right with indices in order."""
    rows = sp.csr_array(block @ right)
    rows.sort_indices()
    return rows


def chosen_columns(columns: NDArray[np.intp], block: sp.csr_array) -> sp.csr_array:
    """Some of the columns, increasing, and no stored zeros."""
    place = np.full(block.shape[1], -1, dtype=block.indices.dtype)
    place[columns] = np.arange(len(columns))
    found = place[block.indices]
    kept = (found >= 0) & (block.data != 0)
    ends = np.concatenate([[0], np.cumsum(kept)])[block.indptr].astype(block.indptr.dtype)
    return sp.csr_array((block.data[kept], found[kept], ends), (block.shape[0], len(columns)))


def without(counts: sp.csr_array, entries: NDArray[np.bool_]) -> sp.csr_array:
    """Counts without some of the stored entries."""
    kept = ~entries
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
    return sp.csr_array((counts.data[kept], counts.indices[kept], ends), counts.shape)


def boilerplate_words(counts: WordCounts) -> NDArray[np.intp]:
    """Return words that always occur together in the same few documents.

    Signatures, quoted headers, tables and near-duplicates consist of such words: at least
    `BUNDLE` words share exactly the same documents, three or more but at most a tenth of all. Each
    document has a random number of 38 bits; words with the same sum of them have the same
    documents, up to a chance of one in 10^11 for a pair.
    """
    keys = np.random.default_rng(8).integers(2**38, size=counts.shape[0]).astype(np.float64)
    sums = counts.blocks.map_reduce(key_sums, keys)
    few = (counts.documents >= 3) & (counts.documents <= min(counts.shape[0] / 10, 2**14))
    _, place, number = np.unique(sums[few], return_inverse=True, return_counts=True)
    return np.flatnonzero(few)[number[place] >= BUNDLE]


def key_sums(block: sp.csr_array, keys: Floats) -> Floats:
    """Return the sum of the keys of the documents that have each word."""
    of_entry = np.repeat(keys, np.diff(block.indptr)) * (block.data != 0)
    return np.asarray(np.bincount(block.indices, of_entry, minlength=block.shape[1]), np.float64)
