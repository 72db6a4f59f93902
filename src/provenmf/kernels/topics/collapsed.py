"""Topic weights of documents with the weights integrated out, one document at a time."""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import inner_njit, njit

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
FAST = {"reassoc", "contract", "nsz", "arcp"}
kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
inner = inner_njit(error_model="numpy", fastmath=FAST)
LANES = np.int64(32)


@inner
def assign_in_place(
    words: Floats, counts: Floats, prior: Floats, rounds: int, tol: float, q: Floats, held: Floats
) -> None:
    """Rounds over one document's words: q[i] ∝ words[i] (prior + held − one occurrence's q[i]).

    q (different words, topics) holds the probabilities of topics of an occurrence of each word,
    held = Σ counts q. An entry below one is less than an occurrence, and is taken out whole.
    """
    n, width = words.shape
    zero, one = words.dtype.type(0), words.dtype.type(1)
    length = 0.0
    for i in range(n):
        length += counts[i]
    new = np.empty(width, words.dtype)
    for _ in range(rounds):
        change = 0.0
        for i in range(n):
            own, shares, out = min(counts[i], one), q[i], words[i]
            norm = zero
            for j in range(width):
                new[j] = out[j] * max(prior[j] + held[j] - own * shares[j], zero)
                norm += new[j]
            if norm > zero:
                factor, moved = one / norm, zero
                for j in range(width):
                    step = new[j] * factor - shares[j]
                    moved += abs(step)
                    held[j] += counts[i] * step
                    shares[j] += step
                change += counts[i] * moved
        if change <= tol * length:
            return


@kernel
def collapsed_rows_in_place(
    pointers: Ints,
    columns: Ints,
    values: Floats,
    words: Floats,
    prior: Floats,
    rounds: int,
    tol: float,
    start: int,
    stop: int,
    out: Floats,
) -> None:
    """Write prior + expected occurrences of documents start .. stop-1; words[w] is p(w | topic).

    All floats but tol have one precision. Words start with topics in proportion to words[w].
    """
    k = words.shape[1]
    width = int(-(-k // LANES) * LANES)
    longest = 0
    for row in range(start, stop):
        longest = max(longest, pointers[row + 1] - pointers[row])
    part, q = np.zeros((longest, width), words.dtype), np.zeros((longest, width), words.dtype)
    wide, held = np.zeros(width, words.dtype), np.zeros(width, words.dtype)
    for j in range(k):
        wide[j] = prior[j]
    for row in range(start, stop):
        first, n = pointers[row], pointers[row + 1] - pointers[row]
        for j in range(width):
            held[j] = 0.0
        for i in range(n):
            own, norm = words[columns[first + i]], words.dtype.type(0)
            for j in range(k):
                part[i, j] = own[j]
                norm += own[j]
            for j in range(k):
                q[i, j] = own[j] / norm if norm > 0 else words.dtype.type(0)
                held[j] += values[first + i] * q[i, j]
        assign_in_place(part[:n], values[first : first + n], wide, rounds, tol, q[:n], held)
        for j in range(k):
            out[row, j] = wide[j] + held[j]
