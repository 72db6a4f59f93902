"""Topics once more, from the documents' weights: a word has documents as a document has words.

Points of words use the co-occurrence in k dimensions only. Given the weights of the documents, the
likelihood of a word's own occurrences says more, above all about rare words: a document is about
few topics, and a word belongs to few. Alternating between the two would overfit, since a document's
weights follow the very words that they are to explain. So they are crossed:

1. Each entry (document, word) belongs to one of eight folds at random (see `crossing`). Z_d holds
   the weights that the other folds' words give. Given the document's true
   weights, they know nothing of this entry: a word's repeated occurrences are all in one fold.
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
   Shares then follow the medians of p(w | t), which have the least absolute error, instead of the
   means.
4. Likelihood cannot tell whether topics are apart by too little, and nothing promises that the
   refined shares are right in the limit. Those of the points are, with a variance of at most v_w
   (that of shares which need not be positive). So among words of about the same frequency, whose
   points' shares differ from the refined ones by D on average (squared), the points keep
   max(0, 1 − v / D): rare words are refined, well-known ones stay where the two differ by more
   than noise.
5. Some documents are left out to judge by: these shares are kept if they make a half of the
   documents' words more likely, given the other half, than topics that had not seen them either;
   each with the c that suits it best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaincinv, gammaln, psi

from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.crossing import CrossedCounts, Trust
from provenmf.applications.topics.document_posterior import infer_documents

Floats = NDArray[np.float64]

JUDGES = 100  # documents to judge by, or 1 % of them
SAMPLE_ENTRIES = 100_000  # of the words that c and a are chosen by
EVALUATIONS = 8  # for each of the two
GROUPS = 8  # of words about as frequent
LEAST_SHAPE = 1e-9  # of a Gamma distribution whose median is zero in floating point


@dataclass(frozen=True, eq=False)
class CrossedWords:
    """The entries of some words, each with the weights that the other words of its document give.

    Attributes
    ----------
    counts : csr_array (n_words, n_columns)
        Each column is a fold of a document.
    weights : array (n_columns, k)
        The weights Z of the columns.
    mean : array (k,)
        m, the mean of Z over the whole corpus, by the documents' lengths.
    total : float
        Number of all occurrences in the corpus.
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

    def how(self, trust: float, strength: float) -> Trust:
        """The evidence for c = trust and a = strength."""
        return Trust(trust, self.mean, strength + self.total * self.mean)

    def evidence_of(self, trust: float, strength: float) -> NDArray[np.float32]:
        """Z̃ / r for each column."""
        return self.how(trust, strength).evidence(self.weights)[:, : len(self.mean)]

    def shares(self, trust: float, strength: float) -> Floats:
        """p(topic | word) (n_words, k) for c = trust and a = strength."""
        prior = np.repeat((strength * self.frequencies)[:, None], len(self.mean), axis=1)
        evidence = self.evidence_of(trust, strength)
        shares = infer_documents(self.counts, evidence.T, prior, self.first_shares)
        shares[np.diff(self.counts.indptr) == 0] = self.mean
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
        divergence = (
            (shapes - prior) * logarithms
            - gammaln(shapes)
            + gammaln(prior)
            + prior * np.log(self.how(trust, strength).rates / strength)
        )
        return float(self.counts.data @ np.log(likely) - divergence.sum())


def refined_shares(
    counts: WordCounts,
    topics: Floats,
    prior: Floats,
    frequencies: Floats,
    left_out: NDArray[np.intp],
) -> Floats:
    """p(topic | word) (n_words, k), refined from these topics.

    Parameters
    ----------
    counts : WordCounts (n_documents, n_words)
    topics : array (k, n_words), p(word | topic).
    prior : array (k,), Dirichlet parameters of the documents' weights.
    frequencies : array (n_words,), p(word).
    left_out : array of int, documents that are not used.
    """
    crossed = CrossedCounts(counts, topics, prior, left_out)
    joint = topics.T * crossed.mean + np.outer(frequencies, 0.1 * crossed.mean)
    first = joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    sample = sample_of_words(crossed, frequencies, first)
    trust, strength = most_likely(sample, first_strength(topics, crossed.mean, frequencies))
    priors = np.repeat((strength * frequencies)[:, None], len(topics), axis=1)
    means = crossed.shares(sample.how(trust, strength), priors, first)
    return median_shares(means, crossed.counts.occurrences + priors.sum(axis=1))


def median_shares(means: Floats, totals: Floats) -> Floats:
    """Shares in proportion to the medians of p(w | t) ~ Gamma(mean share × total).

    A median has the least expected absolute error, which is what topics are judged by. Few
    occurrences of a word make the distribution skew: a topic that may have one of them, at odds
    below even, most likely has none.
    """
    medians = gammaincinv(np.maximum(means * totals[:, None], LEAST_SHAPE), 0.5)
    sums = medians.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(medians, sums, out=means.copy(), where=sums > 0))


def sample_of_words(crossed: CrossedCounts, frequencies: Floats, first: Floats) -> CrossedWords:
    """Words at random with about `SAMPLE_ENTRIES` entries."""
    documents = crossed.counts.documents
    order = np.random.default_rng(2).permutation(np.flatnonzero(documents))
    number = max(1, int(np.searchsorted(np.cumsum(documents[order]), SAMPLE_ENTRIES)))
    return words_of(crossed, np.sort(order[:number]), frequencies, first)


def words_of(
    crossed: CrossedCounts, chosen: NDArray[np.intp], frequencies: Floats, first: Floats
) -> CrossedWords:
    """The entries of some words, here."""
    found = crossed.entries_of(chosen)
    columns = np.arange(len(found.words))
    shape = (len(chosen), len(columns))
    counts = sp.csr_array((found.counts, (found.words, columns)), shape=shape)
    return CrossedWords(
        counts, found.weights, crossed.mean, crossed.total, frequencies[chosen], first[chosen]
    )


def documents_to_judge(n_documents: int) -> NDArray[np.intp]:
    """`JUDGES` documents or 1 %, whichever is more; none of fewer than ten times `JUDGES`."""
    number = max(JUDGES, n_documents // 100) if n_documents >= 10 * JUDGES else 0
    return np.sort(np.random.default_rng(3).choice(n_documents, number, replace=False))


def mean_of_likes(values: Floats, frequencies: Floats) -> Floats:
    """Means of a value over words about as frequent, weighed by frequency.

    Words by frequency, in `GROUPS` groups that have as many occurrences each.
    """
    order = np.argsort(-frequencies, kind="stable")
    weights = frequencies[order]
    before = np.cumsum(weights) - weights
    group = (GROUPS * before / max(float(weights.sum()), np.finfo(float).tiny)).astype(np.intp)
    group = np.minimum(group, GROUPS - 1)
    sums = np.bincount(group, weights * values[order], GROUPS)
    totals = np.maximum(np.bincount(group, weights, GROUPS), np.finfo(float).tiny)
    means = np.empty(len(values))
    means[order] = (sums / totals)[group]
    return means


def shrunk_towards(
    refined: Floats, shares: Floats, variances: Floats, frequencies: Floats
) -> Floats:
    """Shares between those of the points, of these variances (infinite if unknown), and refined."""
    known = np.where(np.isfinite(variances), frequencies, 0.0)
    difference = mean_of_likes(((shares - refined) ** 2).sum(axis=1), known)
    noise = mean_of_likes(np.where(np.isfinite(variances), variances, 0.0), known)
    kept = np.maximum(0.0, 1.0 - noise / np.maximum(difference, np.finfo(float).tiny))
    kept[np.isinf(variances)] = 0.0
    return refined + kept[:, None] * (shares - refined)


def first_strength(topics: Floats, mean: Floats, frequencies: Floats) -> float:
    """The a of Dirichlet topics with the mean square of these; see `dirichlet_prior`."""
    squares, least = float(mean @ (topics**2).sum(axis=1)), float(frequencies @ frequencies)
    return float(np.clip((1.0 - squares) / max(squares - least, 1e-9), 1.0, 1e6))


def most_likely(sample: CrossedWords, strength: float) -> tuple[float, float]:
    """c and a that maximise the bound over a sample of words, one after the other."""
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
