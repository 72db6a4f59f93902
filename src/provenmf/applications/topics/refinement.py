"""Refine topics by the likelihood of each word's occurrences, given the documents' weights.

Points of words use the co-occurrence in k dimensions only. Given the weights of the documents, the
likelihood of a word's own occurrences says more, above all about rare words. Alternating between
the two would overfit, since a document's weights follow the words that they are to explain. So
they are crossed:

1. Each entry (document, word) belongs to one of eight folds at random. Z_d holds the weights that
   the words of the other folds give; they are independent of this entry given the true weights.
2. If Z_d is the posterior mean, an occurrence in document d is word w with probability
   Σ_t p(w | t) Z_dt exactly. Inferred weights are overconfident, so Z̃ = c Z + (1 − c) m with the
   mean m.
3. With p(w | t) ~ Gamma(a f_w, a) (topics are Dirichlet around the word frequencies f), the shares
   of each word are inferred from the documents as the weights of documents are from words. The
   topics to begin with give a, by their mean square; c maximizes the variational bound of the
   evidence over a sample of words,

       Σ_d c_dw log Σ_t exp(ψ(γ_wt)) Z̃_dt / r_t
       + Σ_t [lnΓ(γ_wt) − lnΓ(a f_w) − (γ_wt − a f_w) ψ(γ_wt) + a f_w log(a / r_t)],

   r_t = a + Σ_d N_d Z̃_dt. Shares follow the medians of p(w | t), which minimize absolute error.
4. Likelihood does not promise the right shares in the limit; the points do, with a variance of at
   most v_w. So among words of similar frequency whose shares by points differ from the refined
   ones by D on average (squared), the points keep the weight max(0, 1 − v / D).
5. The refined shares are kept if they make held-out documents more likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaincinv, gammaln, psi

from provenmf.applications.topics.corpus import WordCounts, by_rank, without
from provenmf.applications.topics.inference import infer_documents, mean_weights
from provenmf.budget import available_threads, for_row_slices
from provenmf.data import Rows

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

FOLDS = 8
ROUNDS = 50
ACCURACY = 3e-3  # stop when fewer than this share of all occurrences change their topic
LANES = 32  # loops over so many columns leave no rest


class Trust(NamedTuple):
    """What turns weights Z into the evidence (c Z + (1 − c) m) / r; see `refine`."""

    trust: float
    mean: Floats
    rates: Floats

    def evidence(self, weights: Singles) -> Singles:
        """Evidence of weights (…, k), with columns of zeros up to a multiple of `LANES`.

        Weights of zero, where nothing is known of a document, give a multiple of m / r.
        """
        k = len(self.mean)
        wide = padded(weights)
        slope, shift = self.trust / self.rates, (1 - self.trust) * self.mean / self.rates
        wide[..., :k] *= slope.astype(np.float32)
        wide[..., :k] += shift.astype(np.float32)
        return wide


def padded(weights: Floats | Singles) -> Singles:
    """Weights (…, k) with columns of zeros up to a multiple of `LANES`."""
    k = weights.shape[-1]
    wide = np.zeros((*weights.shape[:-1], -(-k // LANES) * LANES), dtype=np.float32)
    wide[..., :k] = weights
    return wide


class CrossedEntries(NamedTuple):
    """Entries of some words: which word, how often, beside which weights."""

    words: NDArray[np.intp]
    counts: Floats
    weights: Singles


class CrossedCounts:
    """Counts in folds, with the weights that the other folds give.

    Parameters
    ----------
    counts : WordCounts
    topics : array (k, n_words)
    prior : array (k,)
    left_out : array of int
        Documents that count nothing.
    """

    def __init__(
        self, counts: WordCounts, topics: Floats, prior: Floats, left_out: NDArray[np.intp]
    ) -> None:
        self.counts = counts
        self._lengths = counts.lengths.copy()
        self._lengths[left_out] = 0.0
        self._documents = np.arange(counts.shape[0])
        find = partial(weights_beside, topics.astype(np.float32), prior)
        self._weights: Rows = counts.blocks.keep(find, self._documents)
        sums = counts.blocks.map_reduce(weighed, self._lengths, self._weights)
        self.mean: Floats = sums / max(float(sums.sum()), np.finfo(float).tiny)
        self.total = float(self._lengths.sum())

    def entries_of(self, words: NDArray[np.intp]) -> CrossedEntries:
        """The entries of some words, here."""
        place = np.full(self.counts.shape[1], -1)
        place[words] = np.arange(len(words))
        found = self.counts.blocks.each(
            partial(entries_at, place), self._documents, self._lengths, self._weights
        )
        every = CrossedEntries(*map(np.concatenate, zip(*(part for _, _, part in found))))
        every.weights[every.weights.sum(axis=1) == 0] = self.mean  # a document of one word
        return every

    def shares(self, how: Trust, prior: Floats, first: Floats) -> Floats:
        """p(topic | word) (n_words, k), from the priors and first guesses of the same shape.

        γ_wt = prior_wt + Σ_d c_dw q_dwt with q_dwt ∝ exp(ψ(γ_wt)) evidence_dt, Σ_t q_dwt = 1,
        is iterated for all words at once, as `infer_documents` does for a document at a time.
        """
        occurrences, rank = self.counts.occurrences, self.counts.rank
        gamma = prior + occurrences[:, None] * first
        for _ in range(ROUNDS):
            ease = np.exp(psi(gamma))
            sums = self.counts.blocks.map_reduce(
                partial(shared_out, how, rank, ease[self.counts.order].astype(np.float32)),
                self._documents,
                self._lengths,
                self._weights,
            )
            before, gamma = gamma, prior + ease * sums[rank]
            if np.abs(gamma - before).sum() <= ACCURACY * self.total:
                break
        gamma[occurrences == 0] = self.mean
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def folds_of(block: sp.csr_array, documents: NDArray[np.int64]) -> NDArray[np.int8]:
    """The fold of each entry: at random, but the same in every pass and storage."""
    from provenmf.applications.topics.kernels import number_folds_in_place

    folds = np.empty(block.nnz, dtype=np.int8)
    number_folds_in_place(block.indptr, block.indices, documents, FOLDS, folds)
    return folds


def weights_beside(
    topics: Singles, prior: Floats, block: sp.csr_array, documents: NDArray[np.int64]
) -> Singles:
    """Weights (documents, FOLDS, k) that the words outside of each fold give; zero if none are."""
    folds = folds_of(block, documents)
    found = np.empty((block.shape[0], FOLDS, len(topics)), dtype=np.float32)
    for fold in range(FOLDS):
        found[:, fold] = mean_weights(without(block, folds == fold), topics, prior)
    return found


def weighed(block: sp.csr_array, lengths: Floats, weights: Singles) -> Floats:
    """The sum of all weights, each document by its length."""
    return np.asarray(np.einsum("d,dfk->k", lengths, weights))


def entries_at(
    place: NDArray[np.intp],
    block: sp.csr_array,
    documents: NDArray[np.int64],
    lengths: Floats,
    weights: Singles,
) -> CrossedEntries:
    """Entries of words that have a place, in documents that count."""
    folds = folds_of(block, documents)
    of_entry = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    chosen = np.flatnonzero((place[block.indices] >= 0) & (lengths[of_entry] > 0))
    return CrossedEntries(
        place[block.indices[chosen]],
        block.data[chosen],
        weights[of_entry[chosen], folds[chosen]],
    )


def shared_out(
    how: Trust,
    rank: NDArray[np.int32],
    ease: Singles,
    block: sp.csr_array,
    documents: NDArray[np.int64],
    lengths: Floats,
    weights: Singles,
) -> Floats:
    """Σ_d c_dw evidence_dt / Σ_s ease_ws evidence_ds for each word and topic; one round.

    Words of ease and of the sums are by frequency; rank says where each is.
    """
    evidence = how.evidence(weights)
    evidence[lengths == 0] = 0.0
    return added_up(by_rank(rank, block), folds_of(block, documents), evidence, ease)


def added_up(
    counts: sp.csr_array, folds: NDArray[np.int8], evidence: Singles, ease: Singles
) -> Floats:
    """Σ_d c_dw evidence_dt / Σ_s ease_ws evidence_ds; documents without evidence add nothing.

    evidence (documents, folds, width) has columns of zeros beyond the topics that ease has.
    """
    from provenmf.applications.topics.kernels import add_shared_in_place

    threads = available_threads()
    wide = np.zeros((len(ease), evidence.shape[-1]), dtype=np.float32)
    wide[:, : ease.shape[1]] = ease
    sums = np.zeros((threads, *wide.shape), dtype=np.float32)
    parts = counts.indptr, counts.indices, counts.data, folds
    bounds = np.searchsorted(counts.indptr, np.linspace(0, counts.nnz, threads + 1))
    bounds[-1] = counts.shape[0]

    def work(each: slice) -> None:
        start, stop = int(bounds[each.start]), int(bounds[each.stop])
        add_shared_in_place(*parts, evidence, wide, start, stop, sums[each.start])

    for_row_slices(work, threads, slice_rows=1)
    return np.asarray(sums.sum(axis=0, dtype=np.float64)[:, : ease.shape[1]])


JUDGES = 100  # documents to judge by, or 1 % of them
SAMPLE_ENTRIES = 100_000  # of the words that c is chosen by
EVALUATIONS = 8
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
    strength = first_strength(topics, crossed.mean, frequencies)
    trust = most_likely_trust(sample, strength)
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
    """Return `JUDGES` documents at random or 1 %, whichever is more; none of few documents."""
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


def most_likely_trust(sample: CrossedWords, strength: float) -> float:
    """Return the c that maximizes the bound over a sample of words."""
    found = minimize_scalar(
        lambda trust: -sample.bound(trust, strength),
        bounds=(0.3, 1.0),
        options={"maxiter": EVALUATIONS},
    )
    return float(found.x)


UNSEEN = 0.01  # occurrences that each word has in each topic besides those counted


def assigned_shares(
    counts: WordCounts, topics: Floats, prior: Floats, left_out: NDArray[np.intp]
) -> Floats:
    """p(topic | word) (n_words, k) after one step of expectation and maximisation.

    Parameters
    ----------
    counts : WordCounts (n_documents, n_words)
    topics : array (k, n_words), p(word | topic).
    prior : array (k,), Dirichlet parameters of the documents' weights.
    left_out : array of int, documents that are not used.
    """
    used = np.ones(counts.shape[0], dtype=np.float32)
    used[left_out] = 0.0
    words = topics.T.astype(np.float32)
    share = partial(assigned, topics.astype(np.float32), prior, counts.rank, words[counts.order])
    sums = counts.blocks.map_reduce(share, used)
    occurrences = topics.T * sums[counts.rank] + UNSEEN
    return np.asarray(occurrences / occurrences.sum(axis=1, keepdims=True))


def assigned(
    topics: Singles,
    prior: Floats,
    rank: NDArray[np.int32],
    ordered: Singles,
    block: sp.csr_array,
    used: Singles,
) -> Floats:
    """Σ_d c_dw θ_dt / Σ_s p(w | s) θ_ds; words of `ordered` and of the sums are by frequency."""
    weights = infer_documents(block, topics, prior) * used[:, None]
    folds = np.zeros(block.nnz, dtype=np.int8)
    return added_up(by_rank(rank, block), folds, padded(weights)[:, None, :], ordered)
