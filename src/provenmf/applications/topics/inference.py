"""Infer the topic weights of documents, their Dirichlet prior, and better topics from them.

The compiled loops come first; `infer_documents` says what they compute.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaincinv, gammaln, psi

from provenmf.applications.topics.corpus import WordCounts, without
from provenmf.budget import available_threads, for_row_slices
from provenmf.linalg.compiled import inner_njit, njit
from provenmf.linalg.nnls import encoder, simplex_least_squares
from provenmf.linalg.norms import rows_to_sum_one

Floats = NDArray[np.float64]
Reals = NDArray[np.floating]
Ints = NDArray[np.integer]

ROUNDS = 100
# Steps of refinement. On texts 3 to 10 make no difference for the documents' topics, and 30 fit
# the noise; topics of drawn corpora gain 1 % from the second five.
STEPS = 5
UNSEEN = 0.01  # occurrences that each word has in each topic besides those counted
LEAST_SHAPE = 1e-9  # of a Gamma distribution whose median is zero in floating point
ACCURACY = 3e-3  # stop when fewer than this share of a document's words changes its topic
FAST = {"reassoc", "contract", "nsz", "arcp"}
kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
inner = inner_njit(error_model="numpy", fastmath=FAST)
LANES = 8  # single-precision numbers in a vector; rows are padded so that loops have no remainder


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


@kernel
def infer_rows_in_place(
    pointers: Ints,
    columns: Ints,
    values: Reals,
    words: Reals,
    prior: Floats,
    rounds: int,
    tol: float,
    start: int,
    stop: int,
    out: Reals,
    sums: Reals,
) -> None:
    """Write the parameters of documents start .. stop-1 into out; words[w] is p(w | topic).

    Each round is gamma = prior + counts shared out by exp(psi(gamma)) words. The shares of the last
    one are added to sums (words, width), unless it is empty. words (words, width) has columns of
    zeros beyond the topics. It, sums and the values have one precision. Loops and no array
    expressions, which take long to compile.
    """
    k, width = len(prior), words.shape[1]
    ease, shared, gamma = np.zeros(width, words.dtype), np.empty(width, words.dtype), np.empty(k)
    zero = words.dtype.type(0)  # a plain 0.0 would make sums doubles, twice as slow
    for row in range(start, stop):
        first, last = pointers[row], pointers[row + 1]
        length = zero
        for p in range(first, last):
            length += values[p]
        for j in range(k):
            gamma[j] = prior[j] + length / k
        for _ in range(rounds):
            for j in range(k):
                ease[j] = digamma_exponential(gamma[j])
            for j in range(width):
                shared[j] = zero
            for p in range(first, last):
                own = words[columns[p]]
                norm = zero
                for j in range(width):
                    norm += ease[j] * own[j]
                if norm > zero:
                    factor = values[p] / norm
                    for j in range(width):
                        shared[j] += factor * own[j]
            change = 0.0
            for j in range(k):
                new = prior[j] + ease[j] * shared[j]
                change += abs(new - gamma[j])
                gamma[j] = new
            if change <= tol * length:
                break
        for j in range(k):
            out[row, j] = gamma[j]
        if len(sums):
            for p in range(first, last):
                own, target = words[columns[p]], sums[columns[p]]
                norm = zero
                for j in range(width):
                    norm += ease[j] * own[j]
                if norm > zero:
                    factor = values[p] / norm
                    for j in range(width):
                        target[j] += factor * ease[j] * own[j]


def padded(rows: Reals) -> NDArray[np.float32]:
    """Return rows (…, k) with columns of zeros up to a multiple of `LANES`."""
    k = rows.shape[-1]
    wide = np.zeros((*rows.shape[:-1], -(-k // LANES) * LANES), dtype=np.float32)
    wide[..., :k] = rows
    return wide


def topic_shares_of_words(points: Floats, vertices: Floats) -> Floats:
    """Compute p(topic | word) (n_words, k): the simplex weights nearest to each word's point."""
    centre = vertices.mean(axis=0)
    moved = vertices - centre
    weights = simplex_least_squares(moved @ moved.T, (points - centre) @ moved.T)
    return weights.astype(np.float64, copy=False)


def topics_of(shares: Floats, frequencies: Floats) -> Floats:
    """Return p(word | topic) (k, n_words) = p(topic | word) p(word) / p(topic); rows sum to one."""
    joint = (shares * frequencies[:, None]).T
    sums = joint.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(joint, sums, out=np.zeros_like(joint), where=sums > 0))


def weights_in(counts: WordCounts, topics: Floats, prior: Floats | None) -> Floats:
    """Return the topic weights of all documents, in one pass; rows sum to one, or are zero.

    By `infer_documents`, or without a prior by nonnegative least squares of the counts.
    """
    if prior is None:
        return rows_to_sum_one(counts.blocks.map_rows(encoder(topics, counts.blocks.dtype)))
    return counts.blocks.map_rows(partial(weights_of, topics.astype(np.float32), prior))


def weights_of(topics: NDArray[np.float32], prior: Floats, block: sp.csr_array) -> Floats:
    """Call `infer_documents` with the block as the last argument."""
    return infer_documents(block, topics, prior)


def infer_documents(
    counts: sp.csr_array, topics: Floats | NDArray[np.float32], prior: Floats
) -> Floats:
    """Infer mean topic weights of documents from topics and a Dirichlet prior; rows sum to one.

    The posterior is approximated by a Dirichlet distribution (Blei, Ng & Jordan 2003, Section
    5.2) with parameters γ_t = α_t + Σ_w c_w q_wt, q_wt ∝ exp(ψ(γ_t)) p(w | t), Σ_t q_wt = 1.
    With small α the mode of the posterior lies on the boundary whatever the words are, so the
    mean is taken. Documents without words have no weights: zeros.
    """
    out, empty = np.empty((counts.shape[0], len(topics))), np.empty((1, 0, 1), dtype=np.float32)
    _infer(counts, topics, prior, out, empty)
    out /= np.maximum(out.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    out[np.diff(counts.indptr) == 0] = 0.0
    return out


def _infer(counts: sp.csr_array, topics: Reals, prior: Floats, out: Floats, sums: Reals) -> None:
    """Write parameters into out, and add shares to sums (parts, words, width), one part a job."""
    # Indices of one type, so that the kernel is compiled once.
    index = np.int32 if counts.nnz <= np.iinfo(np.int32).max else np.int64
    pointers, columns = (part.astype(index, copy=False) for part in (counts.indptr, counts.indices))
    values = np.ascontiguousarray(counts.data, dtype=np.float32)
    words = padded(topics.T)
    own = np.ascontiguousarray(prior, dtype=np.float64)
    parts = len(sums) if sums.size else max(1, counts.shape[0] // 1000)
    bounds = np.linspace(0, counts.shape[0], parts + 1).astype(np.intp)

    def work(each: slice) -> None:
        for part in range(each.start, each.stop):
            infer_rows_in_place(
                pointers, columns, values, words, own, ROUNDS, ACCURACY,
                bounds[part], bounds[part + 1], out, sums[part % len(sums)],
            )  # fmt: skip

    for_row_slices(work, parts, slice_rows=1)


def refined_shares(counts: WordCounts, topics: Floats) -> Floats:
    """Return p(topic | word) (n_words, k) after some steps of expectation and maximization.

    Each step infers the topics of all occurrences (variational EM, Blei03, Section 5.3); in the
    end words get the medians of their shares (`median_shares`).
    """
    prior = np.full(len(topics), 1.0 / len(topics))
    for _ in range(STEPS):
        share_out = partial(shared_out, topics.astype(np.float32), prior)
        gamma = counts.blocks.map_reduce(share_out) + UNSEEN
        topics = topics_of(gamma / gamma.sum(axis=1, keepdims=True), counts.frequencies)
    return median_shares(gamma)


def shared_out(topics: NDArray[np.float32], prior: Floats, block: sp.csr_array) -> Floats:
    """Return the expected occurrences of each word from each topic (n_words, k)."""
    k = len(topics)
    sums = np.zeros((available_threads(), *padded(topics.T).shape), dtype=np.float32)
    _infer(block, topics, prior, np.empty((block.shape[0], k)), sums)
    return np.asarray(sums.sum(axis=0, dtype=np.float64)[:, :k])


def median_shares(gamma: Floats) -> Floats:
    """Return shares in proportion to the medians of Gamma distributions of these shapes.

    A median has the least expected absolute error, which is what topics are judged by. Few
    occurrences of a word make the distribution skew: a topic that may have one of them, at odds
    below even, most likely has none.
    """
    medians = gammaincinv(np.maximum(gamma, LEAST_SHAPE), 0.5)
    means = gamma / gamma.sum(axis=1, keepdims=True)
    sums = medians.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(medians, sums, out=means, where=sums > 0))


class Completed(NamedTuple):
    """Held-out words.

    counts : how often each occurs.
    own : its probability by the weights that the other half of its document gives.
    common : its probability by the mean weights.
    documents : its document.
    """

    counts: Floats
    own: Floats
    common: Floats
    documents: NDArray[np.integer]


def completed(counts: sp.csr_array, topics: Floats, prior: Floats) -> Completed:
    """Predict a random half of the entries of each document from the other half."""
    half = np.random.default_rng(3).integers(2, size=counts.nnz) == 0
    mean = prior / prior.sum()
    weights = infer_documents(without(counts, half), topics, prior)
    weights[weights.sum(axis=1) == 0] = mean
    rest = without(counts, ~half).tocoo()
    documents, words = rest.row, rest.col
    own = np.einsum("ij,ij->i", weights[documents], topics.T[words])
    return Completed(rest.data, own, (mean @ topics)[words], documents)


LEAST_PRIOR, MOST_PRIOR = 0.01, 100.0
SAMPLE_ENTRIES = 100_000  # of the documents that choices are made by


def sample_of_documents(counts: WordCounts) -> sp.csr_array:
    """Sample nonempty documents with about `SAMPLE_ENTRIES` entries in total."""
    order = np.random.default_rng(4).permutation(np.flatnonzero(counts.different))
    entries = np.cumsum(counts.different[order])
    number = max(1, int(np.searchsorted(entries, SAMPLE_ENTRIES)))
    return counts.take(np.sort(order[:number]))


def likeliest_prior(
    counts: WordCounts, topics: Floats, proportions: Floats, *, independent: bool
) -> Floats:
    """Return the Dirichlet prior in these proportions whose total suits the documents best.

    Where every occurrence is drawn by itself (independent), it maximizes the evidence's variational
    bound (Blei03, Eq. (15)) over a sample of documents. Where words repeat, the bound takes each
    repeat for new evidence, so that weights may follow a few words and the total is too small.
    There it makes a half of each document's words most likely, given the other half, which is right
    whatever makes words repeat: all occurrences of a word in a document are in one half.
    """
    sample = sample_of_documents(counts)
    shares = np.asarray(np.maximum(proportions / proportions.sum(), 1e-4))
    if sample.shape[0] == 0 or len(topics) < 2:
        return shares
    likelihood = evidence_bound if independent else completion
    found = minimize_scalar(
        lambda log: -likelihood(sample, topics, np.exp(log) * shares),
        bounds=(np.log(LEAST_PRIOR), np.log(MOST_PRIOR)),
        options={"maxiter": 10},
    )
    return np.asarray(np.exp(found.x) * shares)


def completion(counts: sp.csr_array, topics: Floats, prior: Floats) -> float:
    """Return the mean log probability of a half of each document's words, given the other half."""
    words = completed(counts, topics, prior)
    likely = np.log(np.maximum(words.own, np.finfo(float).tiny))
    return float(words.counts @ likely / max(words.counts.sum(), 1.0))


def evidence_bound(counts: sp.csr_array, topics: Floats, prior: Floats) -> float:
    """Lower bound of the documents' log probability, up to the multinomial coefficients."""
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
    gamma = infer_documents(counts, topics, prior) * (lengths + prior.sum())[:, None]
    logarithms = psi(gamma) - psi(gamma.sum(axis=1))[:, None]
    documents = np.repeat(np.arange(len(gamma)), np.diff(counts.indptr))
    likely = np.einsum("ij,ij->i", np.exp(logarithms)[documents], topics.T[counts.indices])
    divergence = (
        (gammaln(gamma.sum(axis=1)) - gammaln(prior.sum())).sum()
        - (gammaln(gamma) - gammaln(prior)).sum()
        + ((gamma - prior) * logarithms).sum()
    )
    smallest = np.finfo(float).tiny
    return float(counts.data @ np.log(np.maximum(likely, smallest)) - divergence)
