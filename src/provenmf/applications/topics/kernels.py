"""Compiled loops: topic weights of documents, and the occurrences of words by topic."""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import inner_njit, njit

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Ints = NDArray[np.integer]
FAST = {"reassoc", "contract", "nsz", "arcp"}
kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
inner = inner_njit(error_model="numpy", fastmath=FAST)
# For what is called in one place: it compiles faster there than by itself.
inlined = inner_njit(error_model="numpy", fastmath=FAST, inline="always")

# Rounds with all topics. Not a literal 6, for which numba compiles a separate function.
FIRST_ROUNDS = np.int64(6)
LANES = np.int64(32)  # four vectors of eight single-precision numbers
NEGLIGIBLE = 0.02  # occurrences; a topic that holds fewer after these rounds is left out


@inner
def digamma_exponential(x: float) -> float:
    """Compute exp(psi(x)) for x > 0: four steps of the recurrence, then the asymptotic series.

    The sum 1/x + … + 1/(x + 3) is p'(x) / p(x) with p = x (x + 1) (x + 2) (x + 3): one division.
    """
    shift = 0.0
    if x < 4.0:
        shift = (6.0 + x * (22.0 + x * (18.0 + 4.0 * x))) / (x * (6.0 + x * (11.0 + x * (6.0 + x))))
        x += 4.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    return float(x * np.exp(-0.5 / x - series - shift))


@inner
def padded(k: int) -> int:
    """Round k up to a multiple of `LANES`, so that vectorized loops leave no scalar remainder."""
    return int(-(-k // LANES) * LANES)


@inlined
def gathered(words: Floats, rows: Ints, store: Floats) -> Floats:
    """Copy the given rows of words into the store, padded with zeros to the padded width."""
    n, k, width = len(rows), words.shape[1], padded(words.shape[1])
    part = store[: n * width].reshape((n, width))
    for i in range(n):
        row = words[rows[i]]
        for j in range(k):
            part[i, j] = row[j]
        for j in range(k, width):
            part[i, j] = 0.0
    return part


@inlined
def narrowed_in_place(part: Floats, topics: Ints, store: Floats) -> Floats:
    """Move the given columns, in increasing order, of gathered rows to the front of the store."""
    n, k, width = len(part), len(topics), padded(len(topics))
    narrow = store[: n * width].reshape((n, width))
    for i in range(n):
        for j in range(k):
            narrow[i, j] = part[i, topics[j]]
        for j in range(k, width):
            narrow[i, j] = 0.0
    return narrow


@inner
def share_out_in_place(
    words: Floats, counts: Floats, rounds: int, tol: float, prior: Doubles, gamma: Doubles
) -> None:
    """Iterate gamma = prior + counts shared out by exp(psi(gamma)) words, at most `rounds` times.

    words (different words, topics) are the probabilities of one document's words in the topics;
    columns beyond the topics are zero. They and the counts have one precision, as the sums do.
    """
    (n, width), k = words.shape, len(gamma)
    ease, shared = np.zeros(width, words.dtype), np.empty(width, words.dtype)
    zero = words.dtype.type(0)  # a plain 0.0 would make sums doubles, twice as slow
    length = 0.0
    for i in range(n):
        length += counts[i]
    for _ in range(rounds):
        for j in range(k):
            ease[j] = digamma_exponential(gamma[j])
        for j in range(width):
            shared[j] = zero
        for i in range(n):
            norm = zero
            for j in range(width):
                norm += ease[j] * words[i, j]
            if norm > zero:
                factor = counts[i] / norm
                for j in range(width):
                    shared[j] += factor * words[i, j]
        change = 0.0
        for j in range(k):
            new = prior[j] + ease[j] * shared[j]
            change += abs(new - gamma[j])
            gamma[j] = new
        if change <= tol * length:
            return


@kernel
def infer_rows_in_place(
    pointers: Ints,
    columns: Ints,
    values: Floats,
    words: Floats,
    prior: Doubles,
    rounds: int,
    tol: float,
    start: int,
    stop: int,
    out: Floats,
) -> None:
    """Write the parameters of documents start .. stop-1 into out; words[w] is p(w | topic).

    Loops and no array expressions, which would take three more seconds to compile.
    """
    k = words.shape[1]
    longest = 0
    for row in range(start, stop):
        longest = max(longest, pointers[row + 1] - pointers[row])
    store = np.zeros(longest * padded(k), words.dtype)
    chosen = np.empty(k, dtype=np.int64)
    few_prior, few_gamma, gamma = np.empty(k), np.empty(k), np.empty(k)
    for row in range(start, stop):
        first, n = pointers[row], pointers[row + 1] - pointers[row]
        own, counts = columns[first : first + n], values[first : first + n]
        length = 0.0
        for i in range(n):
            length += counts[i]
        for j in range(k):
            gamma[j] = prior[j] + length / k
        part = gathered(words, own, store)
        share_out_in_place(part, counts, FIRST_ROUNDS, tol, prior, gamma)
        m = 0
        for j in range(k):
            if gamma[j] - prior[j] > NEGLIGIBLE:
                chosen[m], few_prior[m], few_gamma[m] = j, prior[j], gamma[j]
                m += 1
            out[row, j] = prior[j]
        if m > 0:
            part = narrowed_in_place(part, chosen[:m], store)
            share_out_in_place(part, counts, rounds, tol, few_prior[:m], few_gamma[:m])
            for j in range(m):
                out[row, chosen[j]] = few_gamma[j]


@kernel
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
    """Add Σ c z / (ease[w] · z) over the entries of word w to out[w], z the evidence of its fold.

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
