"""Occurrences of words in folds, and their shares of topics, one block of documents at a time."""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]


@njit(cache=True, nogil=True)
def number_folds_in_place(
    pointers: Ints, columns: Ints, documents: Ints, n_folds: int, folds: NDArray[np.int8]
) -> None:
    """Give each entry a fold at random, the same wherever the entry is stored.

    A hash of its document's number and its word decides: odd multipliers and shifts, as in
    splitmix64.
    """
    for row in range(len(pointers) - 1):
        own = np.uint64(documents[row]) * np.uint64(0x9E3779B97F4A7C15)
        for p in range(pointers[row], pointers[row + 1]):
            mixed = own + np.uint64(columns[p] + 1) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(30)
            mixed *= np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
            mixed *= np.uint64(0xD6E8FEB86659FD93)
            folds[p] = np.int64((mixed >> np.uint64(33)) % np.uint64(n_folds))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
def add_shared_in_place(
    pointers: Ints,
    columns: Ints,
    values: Floats,
    folds: NDArray[np.int8],
    evidence: Floats,
    ease: Floats,
    start: int,
    stop: int,
    out: Floats,
) -> None:
    """out[w] += Σ c / (ease[w] · z) z over the entries of word w, z the evidence of its fold.

    Rows start .. stop-1. evidence (documents, folds, width), ease and out (words, width) have
    columns of zeros beyond the topics, and one precision.
    """
    width = ease.shape[1]
    zero = ease.dtype.type(0)
    for row in range(start, stop):
        for p in range(pointers[row], pointers[row + 1]):
            z, own, target = evidence[row, folds[p]], ease[columns[p]], out[columns[p]]
            norm = zero
            for j in range(width):
                norm += own[j] * z[j]
            if norm > zero:
                factor = values[p] / norm
                for j in range(width):
                    target[j] += factor * z[j]
