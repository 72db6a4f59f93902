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
3. With p(w | t) ~ Gamma(a f_w, a) (topics are Dirichlet around the word frequencies f, and a is
   that of the topics to begin with), the shares of each word are inferred from the documents as
   the weights of documents are from words,

       γ_wt = a f_w + Σ_d c_dw q_dwt,   q_dwt ∝ exp(ψ(γ_wt)) Z̃_dt / r_t,   r_t = a + Σ_d N_d Z̃_dt.

   Shares follow the medians of p(w | t), which minimize absolute error.
4. Likelihood does not promise the right shares in the limit; the points do, with a variance of at
   most v_w. So among words of similar frequency whose shares by points differ from the refined
   ones by D on average (squared), the points keep the weight max(0, 1 − v / D).

`assigned_shares` is a plain step of expectation and maximization, for topics from groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaincinv, psi

from provenmf.applications.topics.corpus import WordCounts, by_rank, without
from provenmf.applications.topics.inference import (
    Ints,
    Reals,
    infer_documents,
    kernel,
    padded,
)
from provenmf.budget import available_threads, for_row_slices

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """Choices of the refinement.

    folds : of the entries of a document; more folds lose fewer words and cost more inference.
    words_per_topic : c = N / (N + this × k) for k topics and N words in a mean document. Of .8 to
        1 in steps of .05, the best c at N = 80 was .95 for 10 topics (2 000 and 20 000 documents)
        and .85 for 50 topics (20 000; at 5 000 all are within 1 %).
    rounds, accuracy : stop when fewer than this share of all occurrences change their topic.
    groups : of words of similar frequency.
    least_documents : fewer are not refined.
    """

    folds: int = 8
    words_per_topic: float = 1 / 3
    rounds: int = 50
    accuracy: float = 3e-3
    groups: int = 8
    least_documents: int = 1000


SETTINGS = Settings()
LEAST_SHAPE = 1e-9  # of a Gamma distribution whose median is zero in floating point
UNSEEN = 0.01  # occurrences that each word has in each topic besides those counted


def refined_shares(
    counts: WordCounts, topics: Floats, prior: Floats, shares: Floats, variances: Floats
) -> Floats:
    """Return p(topic | word) (n_words, k), refined from these topics.

    Parameters
    ----------
    counts : WordCounts (n_documents, n_words)
    topics : array (k, n_words), p(word | topic).
    prior : array (k,), Dirichlet parameters of the documents' weights.
    shares : array (n_words, k), p(topic | word) by the points.
    variances : array (n_words,), of these shares; infinite if unknown.
    """
    frequencies, occurrences = counts.frequencies, counts.occurrences
    documents = np.arange(counts.shape[0])
    beside = partial(weights_beside, topics.astype(np.float32), prior)
    weights = counts.blocks.keep(beside, documents)
    sums = counts.blocks.map_reduce(weighted_sum, counts.lengths, weights)
    mean = sums / max(float(sums.sum()), np.finfo(float).tiny)
    strength = dirichlet_strength(topics, mean, frequencies)
    rates = strength + float(counts.lengths.sum()) * mean
    length = float(counts.lengths.mean())
    trust = length / (length + SETTINGS.words_per_topic * len(topics))
    scale = (trust / rates).astype(np.float32), ((1 - trust) * mean / rates).astype(np.float32)
    joint = topics.T * mean + np.outer(frequencies, 0.1 * mean)
    first = joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    prior_of_words = strength * frequencies[:, None]
    gamma = prior_of_words + occurrences[:, None] * first
    for _ in range(SETTINGS.rounds):
        ease = np.exp(psi(gamma))
        share_out = partial(shared_out, scale, counts.rank, ease[counts.order].astype(np.float32))
        sums = counts.blocks.map_reduce(share_out, documents, weights)
        before, gamma = gamma, prior_of_words + ease * sums[counts.rank]
        if np.abs(gamma - before).sum() <= SETTINGS.accuracy * counts.lengths.sum():
            break
    gamma[occurrences == 0] = mean
    return shrunk_towards(median_shares(gamma), shares, variances, frequencies)


def folds_of(block: sp.csr_array, documents: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the fold of each entry: at random, but the same in every pass and storage.

    A hash of its document's number and its word decides: odd multipliers and shifts, as in
    splitmix64.
    """
    own = documents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (block.indices.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed += np.repeat(own, np.diff(block.indptr))
    for shift, factor in ((30, 0x94D049BB133111EB), (31, 0xD6E8FEB86659FD93)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return np.asarray((mixed >> np.uint64(33)) % np.uint64(SETTINGS.folds), dtype=np.int8)


def weights_beside(
    topics: Singles, prior: Floats, block: sp.csr_array, documents: NDArray[np.int64]
) -> Singles:
    """Return weights (documents, folds, k) that the words outside of each fold give, or zeros."""
    folds = folds_of(block, documents)
    found = np.empty((block.shape[0], SETTINGS.folds, len(topics)), dtype=np.float32)
    for fold in range(SETTINGS.folds):
        found[:, fold] = infer_documents(without(block, folds == fold), topics, prior)
    return found


def weighted_sum(block: sp.csr_array, lengths: Floats, weights: Singles) -> Floats:
    """Return the sum of all weights, each document by its length."""
    return np.asarray(np.einsum("d,dfk->k", lengths, weights))


def shared_out(
    scale: tuple[Singles, Singles],
    rank: NDArray[np.int32],
    ease: Singles,
    block: sp.csr_array,
    documents: NDArray[np.int64],
    weights: Singles,
) -> Floats:
    """Return Σ_d c_dw z_dt / Σ_s ease_ws z_ds for each word and topic, z = Z̃ / r; one round.

    Words of ease and of the sums are by frequency; rank says where each is.
    """
    evidence = padded(weights * scale[0] + scale[1])
    return added_up(by_rank(rank, block), folds_of(block, documents), evidence, ease)


@kernel
def add_shared_in_place(
    pointers: Ints,
    columns: Ints,
    values: Reals,
    folds: NDArray[np.int8],
    evidence: Reals,
    ease: Reals,
    start: int,
    stop: int,
    out: Reals,
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


def added_up(
    counts: sp.csr_array, folds: NDArray[np.int8], evidence: Singles, ease: Singles
) -> Floats:
    """Return Σ_d c_dw evidence_dt / Σ_s ease_ws evidence_ds; documents without evidence add none.

    evidence (documents, folds, width) has columns of zeros beyond the topics that ease has.
    """
    threads = available_threads()
    wide = padded(ease)
    sums = np.zeros((threads, *wide.shape), dtype=np.float32)
    parts = counts.indptr, counts.indices, counts.data, folds
    bounds = np.searchsorted(counts.indptr, np.linspace(0, counts.nnz, threads + 1))
    bounds[-1] = counts.shape[0]

    def work(each: slice) -> None:
        start, stop = int(bounds[each.start]), int(bounds[each.stop])
        add_shared_in_place(*parts, evidence, wide, start, stop, sums[each.start])

    for_row_slices(work, threads, slice_rows=1)
    return np.asarray(sums.sum(axis=0, dtype=np.float64)[:, : ease.shape[1]])


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


def mean_of_likes(values: Floats, frequencies: Floats) -> Floats:
    """Return means of a value over words about as frequent, weighted by frequency.

    Words by frequency, in groups that have as many occurrences each.
    """
    order, groups = np.argsort(-frequencies, kind="stable"), SETTINGS.groups
    weights = frequencies[order]
    before = np.cumsum(weights) - weights
    group = (groups * before / max(float(weights.sum()), np.finfo(float).tiny)).astype(np.intp)
    group = np.minimum(group, groups - 1)
    sums = np.bincount(group, weights * values[order], groups)
    totals = np.maximum(np.bincount(group, weights, groups), np.finfo(float).tiny)
    means = np.empty(len(values))
    means[order] = (sums / totals)[group]
    return means


def shrunk_towards(
    refined: Floats, shares: Floats, variances: Floats, frequencies: Floats
) -> Floats:
    """Return shares between those of the points and the refined ones; see the module."""
    known = np.where(np.isfinite(variances), frequencies, 0.0)
    difference = mean_of_likes(((shares - refined) ** 2).sum(axis=1), known)
    noise = mean_of_likes(np.where(np.isfinite(variances), variances, 0.0), known)
    kept = np.maximum(0.0, 1.0 - noise / np.maximum(difference, np.finfo(float).tiny))
    kept[np.isinf(variances)] = 0.0
    return refined + kept[:, None] * (shares - refined)


def dirichlet_strength(topics: Floats, mean: Floats, frequencies: Floats) -> float:
    """Return the a of Dirichlet topics around the frequencies with the mean square of these."""
    squares, least = float(mean @ (topics**2).sum(axis=1)), float(frequencies @ frequencies)
    return float(np.clip((1.0 - squares) / max(squares - least, 1e-9), 1.0, 1e6))


def assigned_shares(
    counts: WordCounts, topics: Floats, prior: Floats, left_out: NDArray[np.intp]
) -> Floats:
    """Return p(topic | word) (n_words, k) after one step of expectation and maximization.

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
    """Return Σ_d c_dw θ_dt / Σ_s p(w | s) θ_ds; words of both are by frequency."""
    weights = infer_documents(block, topics, prior) * used[:, None]
    folds = np.zeros(block.nnz, dtype=np.int8)
    return added_up(by_rank(rank, block), folds, padded(weights)[:, None, :], ordered)
