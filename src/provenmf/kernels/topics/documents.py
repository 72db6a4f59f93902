"""Topic weights of documents, one document at a time."""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Ints = NDArray[np.integer]
kernel = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"}
)

# Rounds with all topics. Not a plain 6, for which numba compiles a function of its own.
FIRST_ROUNDS = np.int64(6)
NEGLIGIBLE = 0.02  # occurrences; a topic that holds fewer after these rounds is left out


@kernel
def digamma_exponential(x: float) -> float:
    """exp(psi(x)) for x > 0: recurrence up to 4, then the asymptotic series."""
    shift = 0.0
    while x < 4.0:
        shift += 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    return float(x * np.exp(-0.5 / x - series - shift))


@kernel
def share_out_in_place(
    words: Floats, counts: Floats, rounds: int, tol: float, prior: Doubles, gamma: Doubles
) -> None:
    """Rounds of gamma = prior + occurrences shared out by exp(psi(gamma)) words, at most so many.

    words (different words, topics) are the probabilities of one document's words in the topics.
    """
    n, k = words.shape
    ease, shared = np.empty(k), np.empty(k)
    length = 0.0
    for i in range(n):
        length += counts[i]
    for _ in range(rounds):
        for j in range(k):
            ease[j] = digamma_exponential(gamma[j])
            shared[j] = 0.0
        for i in range(n):
            norm = 0.0
            for j in range(k):
                norm += ease[j] * words[i, j]
            if norm > 0.0:
                factor = counts[i] / norm
                for j in range(k):
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
    values: Doubles,
    words: Doubles,
    prior: Doubles,
    rounds: int,
    tol: float,
    start: int,
    stop: int,
    out: Doubles,
) -> None:
    """Write the parameters of documents start .. stop-1 into out; words[w] is p(w | topic).

    Loops and no array expressions, which would take three more seconds to compile.
    """
    k = words.shape[1]
    longest = 0
    for row in range(start, stop):
        longest = max(longest, pointers[row + 1] - pointers[row])
    store = np.empty(longest * k)
    chosen = np.empty(k, dtype=np.int64)
    for row in range(start, stop):
        first, n = pointers[row], pointers[row + 1] - pointers[row]
        counts = values[first : first + n]
        gamma = out[row]
        length = 0.0
        for i in range(n):
            length += counts[i]
        for j in range(k):
            gamma[j] = prior[j] + length / k
        own = store[: n * k].reshape((n, k))
        for i in range(n):
            for j in range(k):
                own[i, j] = words[columns[first + i], j]
        share_out_in_place(own, counts, FIRST_ROUNDS, tol, prior, gamma)
        m = 0
        for j in range(k):
            if gamma[j] - prior[j] > NEGLIGIBLE:
                chosen[m] = j
                m += 1
        few = store[: n * m].reshape((n, m))
        few_prior, few_gamma = np.empty(m), np.empty(m)
        for j in range(m):
            few_prior[j], few_gamma[j] = prior[chosen[j]], gamma[chosen[j]]
        for i in range(n):
            for j in range(m):
                few[i, j] = words[columns[first + i], chosen[j]]
        share_out_in_place(few, counts, rounds, tol, few_prior, few_gamma)
        for j in range(k):
            gamma[j] = prior[j]
        for j in range(m):
            gamma[chosen[j]] = few_gamma[j]
