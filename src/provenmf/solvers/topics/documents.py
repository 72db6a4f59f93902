"""Topics from vertices, and the topic weights of documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, psi

from provenmf.linalg.nnls import simplex_least_squares
from provenmf.parallel import for_row_slices
from provenmf.solvers.topics.counts import WordCounts
from provenmf.solvers.topics.spectrum import WordSpectrum

Floats = NDArray[np.float64]

ROUNDS = 100
ACCURACY = 3e-3  # stop when fewer than this share of a document's words changes its topic
LEAST_PRIOR, MOST_PRIOR = 0.01, 100.0
SAMPLE_ENTRIES = 100_000  # of the documents that the prior is chosen by


def topic_shares_of_words(points: Floats, vertices: Floats) -> Floats:
    """p(topic | word) (n_words, k): the simplex weights nearest to each word's point."""
    centre = vertices.mean(axis=0)
    moved = vertices - centre
    weights = simplex_least_squares(moved @ moved.T, (points - centre) @ moved.T)
    return weights.astype(np.float64, copy=False)


def topics_of(shares: Floats, frequencies: Floats) -> Floats:
    """p(word | topic) (k, n_words) = p(topic | word) p(word) / p(topic); rows sum to one."""
    joint = (shares * frequencies[:, None]).T
    sums = joint.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(joint, sums, out=np.zeros_like(joint), where=sums > 0))


def dirichlet_prior(
    spectrum: WordSpectrum, topics: Floats, vertices: Floats, topic_shares: Floats
) -> Floats:
    """Parameters of a Dirichlet distribution with the corpus's moments of topic weights.

    The mean m is the topics' share of all words. Vertex t is the mean context of a word of
    topic t, so that diag(m) V = R T, where R = E[θ θᵀ] and T holds the topics in the coordinates
    of the words' points. A Dirichlet distribution with total α₀ has Σ_t R_tt =
    Σ_t m_t (α₀ m_t + 1) / (α₀ + 1), hence α₀ = (1 − tr R) / (tr R − Σ m²).
    """
    coordinates = (topics * spectrum.pairs.scales) @ spectrum.vectors
    second = (topic_shares[:, None] * vertices) @ np.linalg.pinv(coordinates)
    trace, squares = float(np.trace(second)), float(topic_shares @ topic_shares)
    total = (1.0 - trace) / max(trace - squares, 1e-9)
    total = min(max(total, LEAST_PRIOR), MOST_PRIOR) if trace < 1 else LEAST_PRIOR
    return np.maximum(total * topic_shares, 1e-4)


def likeliest_prior(counts: WordCounts, topics: Floats, prior: Floats) -> Floats:
    """The prior times a number that makes the documents most likely.

    Moments err where topics are not what documents are made of, as in natural language. So the
    total of the parameters maximises the evidence's variational bound (Blei03, Eq. (15)) over a
    sample of documents; their proportions stay.
    """
    filled = np.flatnonzero(counts.different)
    if len(filled) == 0 or len(topics) < 2:
        return prior
    order = np.random.default_rng(4).permutation(filled)
    entries = np.cumsum(counts.different[order])
    number = max(1, int(np.searchsorted(entries, SAMPLE_ENTRIES)))
    sample = counts.take(np.sort(order[:number]))
    found = minimize_scalar(
        lambda log: -evidence_bound(sample, topics, np.exp(log) * prior / prior.sum()),
        bounds=(np.log(LEAST_PRIOR), np.log(MOST_PRIOR)),
        options={"maxiter": 10},
    )
    return np.asarray(np.exp(found.x) * prior / prior.sum())


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


def weights_of_documents(counts: WordCounts, topics: Floats, prior: Floats) -> Floats:
    """Topic weights of all documents, in one pass; see `infer_documents`."""
    return counts.blocks.map_rows(partial(weights_of, topics.astype(np.float32), prior))


def weights_of(topics: NDArray[np.float32], prior: Floats, block: sp.csr_array) -> Floats:
    """`infer_documents` with the block as the last argument."""
    return infer_documents(block, topics, prior)


def infer_documents(
    counts: sp.csr_array,
    topics: Floats | NDArray[np.float32],
    prior: Floats,
    start: Floats | None = None,
) -> Floats:
    """Mean topic weights of documents, given the topics and a Dirichlet prior; rows sum to one.

    The posterior is approximated by a Dirichlet distribution (Blei, Ng & Jordan 2003, Section
    5.2) with parameters γ_t = α_t + Σ_w c_w q_wt, q_wt ∝ exp(ψ(γ_t)) p(w | t), Σ_t q_wt = 1.
    With small α the mode of the posterior lies on the boundary whatever the words are, so the
    mean is taken. Documents without words have no weights: zeros. prior has k numbers, or a row of
    them for each document; start, if given, the weights (n_documents, k) to begin with.
    """
    from provenmf.kernels.topics.documents import infer_rows_in_place

    priors = np.ascontiguousarray(np.atleast_2d(prior), dtype=np.float64)
    first = np.full((1, len(topics)), 1.0 / len(topics)) if start is None else start
    return _inferred(infer_rows_in_place, counts, topics, (priors, first), np.dtype(np.float64))


def mean_weights(
    counts: sp.csr_array, topics: Floats | NDArray[np.float32], prior: Floats
) -> Floats:
    """Mean topic weights of documents, as `infer_documents`, with the weights integrated out.

    Each occurrence has a topic by itself, q ∝ p(w | t) (α_t + the others' expected number in
    topic t): collapsed variational Bayes of order zero (Asuncion, Welling, Smyth & Teh 2009).
    Squared errors are those of Gibbs sampling, those of `infer_documents` 6 % higher, since it
    gives too little to small weights; absolute errors are the other way round. So this is for what
    is linear in the weights: probabilities of words.
    """
    from provenmf.kernels.topics.collapsed import collapsed_rows_in_place

    single = np.dtype(np.float32)
    settings = (prior.astype(single),)
    return _inferred(collapsed_rows_in_place, counts, topics, settings, single).astype(np.float64)


def _inferred(
    kernel: Callable[..., None],
    counts: sp.csr_array,
    topics: Floats | NDArray[np.float32],
    settings: tuple[NDArray[np.floating], ...],
    dtype: np.dtype[np.floating],
) -> Floats:
    """What the kernel writes for each document, as weights: rows sum to one, or are zero."""
    rows = sp.csr_array(counts)
    # Indices of one type, so that the kernel is compiled once.
    index = np.int32 if rows.nnz <= np.iinfo(np.int32).max else np.int64
    pointers, columns = (part.astype(index, copy=False) for part in (rows.indptr, rows.indices))
    values = np.ascontiguousarray(rows.data, dtype=np.float32)
    words = np.ascontiguousarray(topics.T, dtype=np.float32)
    out = np.empty((rows.shape[0], len(topics)), dtype=dtype)

    def work(part: slice) -> None:
        kernel(
            pointers, columns, values, words, *settings, ROUNDS, ACCURACY,
            part.start, part.stop, out,
        )  # fmt: skip

    for_row_slices(work, rows.shape[0], slice_rows=1000)
    out /= np.maximum(out.sum(axis=1, keepdims=True), np.finfo(dtype).tiny)
    out[np.diff(rows.indptr) == 0] = 0.0
    return out
