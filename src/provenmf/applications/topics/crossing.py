"""Every occurrence of a word beside the weights that its document's other words give.

See `refine` for the model. Documents stay in their blocks, wherever these are, and so do their
weights, `FOLDS` rows for each. A round of inference about the words is one pass over the blocks:
it needs exp(ψ(γ)) of all words and returns sums for all words.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import psi

from provenmf.applications.topics.corpus_counts import WordCounts, by_rank
from provenmf.applications.topics.document_posterior import mean_weights
from provenmf.budget import available_threads, for_row_slices
from provenmf.data.parts import Parts

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
        self._weights: Parts = counts.blocks.keep(find, self._documents)
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


def without(counts: sp.csr_array, entries: NDArray[np.bool_]) -> sp.csr_array:
    """Counts without some of the stored entries."""
    kept = ~entries
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
    return sp.csr_array((counts.data[kept], counts.indices[kept], ends), counts.shape)


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
