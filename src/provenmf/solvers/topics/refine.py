"""Topics once more, from the documents' weights: a word has documents as a document has words.

Points of words use the co-occurrence in k dimensions only. Given the weights of the documents, the
likelihood of a word's own occurrences says more, above all about rare words: a document is about
few topics, and a word belongs to few. Alternating between the two would overfit, since a document's
weights follow the very words that they are to explain. So they are crossed:

1. Each entry (document, word) belongs to one of `FOLDS` folds at random. Z_d holds the weights that
   the other folds' words give. Given the document's true weights, they know nothing of this
   entry: a word's repeated occurrences are all in one fold.
2. If Z_d is the mean of what the other words leave open, an occurrence in document d is word w with
   probability Σ_t p(w | t) Z_dt exactly, whatever the spread around that mean. Weights are found
   approximately and are too sure of themselves, so Z̃ = c Z + (1 − c) m with the mean m.
3. With p(w | t) ~ Gamma(a f_w, a) (topics are Dirichlet around the words' frequencies f), the
   shares of each word are inferred from the documents as the weights of documents are from words.
   c and a make the words most likely: they maximise the variational bound of the evidence,

       Σ_d c_dw log Σ_t exp(ψ(γ_wt)) Z̃_dt / r_t
       + Σ_t [lnΓ(γ_wt) − lnΓ(a f_w) − (γ_wt − a f_w) ψ(γ_wt) + a f_w log(a / r_t)],

   r_t = a + Σ_d N_d Z̃_dt, over a sample of words. A smaller c means topics farther apart, up to
   where probabilities would have to be negative: this is where the bound turns.
4. Some documents are left out to judge by: refined topics are kept if they make a half of these
   documents' words more likely, given the other half, than topics that had not seen them either.
5. Likelihood cannot tell whether topics are apart by too little, and nothing promises that the
   refined shares are right in the limit. Those of the points are, with a known variance v_w. So the
   points' shares are shrunk towards the refined ones by v_w / (v_w + τ²), where τ² is by how much
   the two differ beyond v_w on average: rare words are refined, well-known ones stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, psi

from provenmf.solvers.topics.documents import infer_documents

Floats = NDArray[np.float64]

FOLDS = 4
JUDGES = 100  # documents to judge by, or 1 % of them
SAMPLE_ENTRIES = 100_000  # of the words that c and a are chosen by
EVALUATIONS = 8  # for each of the two


@dataclass(frozen=True, eq=False)
class CrossedWords:
    """The occurrences of words, each with the weights that the other words of its document give.

    Attributes
    ----------
    counts : csr_array (n_words, FOLDS * n_documents)
        Column f n + d has the words of document d in fold f.
    weights : array (FOLDS * n_documents, k)
        The weights Z of the columns.
    mean : array (k,)
        m, the mean of Z by the documents' lengths.
    total : float
        Number of all occurrences.
    frequencies : array (n_words,)
    first_shares : array (n_words, k)
        p(topic | word) to begin with.
    """

    counts: sp.csr_array
    weights: NDArray[np.float32]
    mean: Floats
    total: float
    frequencies: Floats
    first_shares: Floats

    def of_words(self, chosen: NDArray[np.intp]) -> CrossedWords:
        """Some of the words."""
        counts = sp.csr_array(self.counts[chosen])
        used, places = np.unique(counts.indices, return_inverse=True)
        counts = sp.csr_array((counts.data, places, counts.indptr), shape=(len(chosen), len(used)))
        return CrossedWords(
            counts,
            self.weights[used],
            self.mean,
            self.total,
            self.frequencies[chosen],
            self.first_shares[chosen],
        )

    def evidence_of(self, trust: float, strength: float) -> NDArray[np.float32]:
        """Z̃ / r for each column."""
        rates = strength + self.total * self.mean
        return ((trust * self.weights + (1 - trust) * self.mean) / rates).astype(np.float32)

    def shares(self, trust: float, strength: float) -> Floats:
        """p(topic | word) (n_words, k) for c = trust and a = strength."""
        prior = np.repeat((strength * self.frequencies)[:, None], len(self.mean), axis=1)
        evidence = self.evidence_of(trust, strength)
        shares = infer_documents(self.counts, evidence.T, prior, self.first_shares)
        unseen = shares.sum(axis=1) == 0
        shares[unseen] = self.mean
        return shares

    def bound(self, trust: float, strength: float) -> float:
        """The evidence's lower bound, up to terms that do not depend on trust and strength."""
        prior = (strength * self.frequencies)[:, None]
        occurrences = np.asarray(self.counts.sum(axis=1))[:, None]
        shapes = self.shares(trust, strength) * (occurrences + len(self.mean) * prior)
        logarithms = psi(shapes)
        words = np.repeat(np.arange(len(shapes)), np.diff(self.counts.indptr))
        evidence = self.evidence_of(trust, strength)[self.counts.indices]
        likely = np.einsum("ij,ij->i", np.exp(logarithms)[words], evidence)
        rates = strength + self.total * self.mean
        divergence = (
            (shapes - prior) * logarithms
            - gammaln(shapes)
            + gammaln(prior)
            + prior * np.log(rates / strength)
        )
        return float(self.counts.data @ np.log(likely) - divergence.sum())


def refined_shares(
    counts: sp.csr_array,
    topics: Floats,
    prior: Floats,
    frequencies: Floats,
    left_out: NDArray[np.intp],
) -> Floats:
    """p(topic | word) (n_words, k), refined from these topics.

    Parameters
    ----------
    counts : csr_array (n_documents, n_words)
    topics : array (k, n_words), p(word | topic).
    prior : array (k,), Dirichlet parameters of the documents' weights.
    frequencies : array (n_words,), p(word).
    left_out : array of int, documents that are not used.
    """
    rng = np.random.default_rng(2)
    folds = rng.integers(FOLDS, size=counts.nnz, dtype=np.int32)
    crossed = crossed_words(counts, folds, topics, prior, frequencies, left_out)
    trust, strength = most_likely(crossed, first_strength(topics, crossed.mean, frequencies), rng)
    return crossed.shares(trust, strength)


def documents_to_judge(n_documents: int) -> NDArray[np.intp]:
    """`JUDGES` documents or 1 %, whichever is more; none of fewer than ten times `JUDGES`."""
    number = max(JUDGES, n_documents // 100) if n_documents >= 10 * JUDGES else 0
    return np.sort(np.random.default_rng(3).choice(n_documents, number, replace=False))


def shrunk_towards(
    refined: Floats, shares: Floats, variances: Floats, frequencies: Floats
) -> Floats:
    """Shares between those of the points, of these variances (infinite if unknown), and refined."""
    known = np.isfinite(variances)
    beyond = ((shares - refined) ** 2).sum(axis=1)[known] - variances[known]
    square = max(0.0, float(np.average(beyond, weights=frequencies[known])))  # τ²
    kept = np.zeros(len(shares))
    kept[known] = square / np.maximum(square + variances[known], np.finfo(float).tiny)
    return refined + kept[:, None] * (shares - refined)


def crossed_words(
    counts: sp.csr_array,
    folds: NDArray[np.int32],
    topics: Floats,
    prior: Floats,
    frequencies: Floats,
    left_out: NDArray[np.intp],
) -> CrossedWords:
    """Each fold's words beside the weights of the others; documents left out count nothing."""
    n_documents = counts.shape[0]
    weights = np.empty((FOLDS * n_documents, len(topics)), dtype=np.float32)
    for fold in range(FOLDS):
        rows = slice(fold * n_documents, (fold + 1) * n_documents)
        weights[rows] = infer_documents(without(counts, folds == fold), topics, prior)
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
    lengths[left_out] = 0.0
    sums = np.tile(lengths, FOLDS) @ weights
    mean = sums / max(float(sums.sum()), np.finfo(float).tiny)
    weights[weights.sum(axis=1) == 0] = mean  # nothing is known of a document of one word
    by_word = sp.csr_array(counts.T)
    fold_of = sp.csr_array(sp.csr_array((folds, counts.indices, counts.indptr), counts.shape).T)
    used = np.where(lengths > 0, np.float32(1), np.float32(0))
    columns = by_word.indices + n_documents * fold_of.data
    data = by_word.data * used[by_word.indices]
    shape = (counts.shape[1], FOLDS * n_documents)
    crossed = sp.csr_array((data, columns, by_word.indptr), shape)
    joint = topics.T * mean + np.outer(frequencies, 0.1 * mean)
    first = joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return CrossedWords(crossed, weights, mean, float(lengths.sum()), frequencies, first)


def without(counts: sp.csr_array, entries: NDArray[np.bool_]) -> sp.csr_array:
    """Counts without some of the stored entries."""
    kept = ~entries
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
    return sp.csr_array((counts.data[kept], counts.indices[kept], ends), counts.shape)


def first_strength(topics: Floats, mean: Floats, frequencies: Floats) -> float:
    """The a of Dirichlet topics with the mean square of these; see `dirichlet_prior`."""
    squares, least = float(mean @ (topics**2).sum(axis=1)), float(frequencies @ frequencies)
    return float(np.clip((1.0 - squares) / max(squares - least, 1e-9), 1.0, 1e6))


def most_likely(
    crossed: CrossedWords, strength: float, rng: np.random.Generator
) -> tuple[float, float]:
    """c and a that maximise the bound over a sample of words, one after the other."""
    order = rng.permutation(np.flatnonzero(crossed.counts.sum(axis=1)))
    entries = np.cumsum(np.diff(crossed.counts.indptr)[order])
    number = max(1, int(np.searchsorted(entries, SAMPLE_ENTRIES)))
    sample = crossed.of_words(np.sort(order[:number]))
    options = {"maxiter": EVALUATIONS}
    trust = minimize_scalar(
        lambda c: -sample.bound(c, strength), bounds=(0.3, 1.0), options=options
    ).x
    by_logarithm = minimize_scalar(
        lambda log: -sample.bound(trust, np.exp(log)),
        bounds=(np.log(strength) - 2.0, np.log(strength) + 2.0),
        options=options,
    )
    return float(trust), float(np.exp(by_logarithm.x))


def held_out_likelihood(counts: sp.csr_array, topics: Floats, prior: Floats) -> float:
    """Mean log probability of a half of each document's words, given the other half."""
    rng = np.random.default_rng(3)
    half = rng.integers(2, size=counts.nnz) == 0
    weights = infer_documents(without(counts, half), topics, prior)
    weights[weights.sum(axis=1) == 0] = prior / prior.sum()
    rest = without(counts, ~half).tocoo()
    documents, words = rest.coords
    likely = np.einsum("ij,ij->i", weights[documents], topics.T[words])
    smallest = np.finfo(float).tiny
    return float(rest.data @ np.log(np.maximum(likely, smallest)) / max(rest.data.sum(), 1.0))
