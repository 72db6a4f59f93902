"""The Dirichlet prior of documents' topic weights: its proportions, and how strong it is."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, psi

from provenmf.applications.topics.completion import completion
from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.document_posterior import infer_documents
from provenmf.applications.topics.spectrum import WordSpectrum

Floats = NDArray[np.float64]

LEAST_PRIOR, MOST_PRIOR = 0.01, 100.0
SAMPLE_ENTRIES = 100_000  # of the documents that choices are made by


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


def sample_of_documents(counts: WordCounts) -> sp.csr_array:
    """Documents at random, of those that have words, with about `SAMPLE_ENTRIES` entries."""
    order = np.random.default_rng(4).permutation(np.flatnonzero(counts.different))
    entries = np.cumsum(counts.different[order])
    number = max(1, int(np.searchsorted(entries, SAMPLE_ENTRIES)))
    return counts.take(np.sort(order[:number]))


def likeliest_prior(
    counts: WordCounts, topics: Floats, prior: Floats, *, independent: bool
) -> Floats:
    """The prior times a number that makes the documents most likely; its proportions stay.

    Moments err where topics are not what documents are made of, as in natural language. Where
    every occurrence is drawn by itself (independent), the total of the parameters maximises the
    evidence's variational bound (Blei03, Eq. (15)) over a sample of documents. Where words repeat,
    the bound takes each repeat for new evidence, so that weights may follow a few words
    and the total is too small. There it makes a half of each document's words most likely, given
    the other half, which is right whatever makes words repeat: all entries of a word are in one
    half.
    """
    sample = sample_of_documents(counts)
    if sample.shape[0] == 0 or len(topics) < 2:
        return prior
    likelihood = evidence_bound if independent else completion
    found = minimize_scalar(
        lambda log: -likelihood(sample, topics, np.exp(log) * prior / prior.sum()),
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
