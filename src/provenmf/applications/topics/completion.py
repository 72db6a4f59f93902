"""Document completion: how likely a half of each document's words is, given the other half."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from provenmf.applications.topics.crossing import without
from provenmf.applications.topics.document_posterior import infer_documents

Floats = NDArray[np.float64]


class Completed(NamedTuple):
    """The words to be predicted.

    counts : how often each occurs.
    own : its probability by the weights that the other half of its document gives.
    common : its probability by the mean weights.
    """

    counts: Floats
    own: Floats
    common: Floats

    def likelihood(self, trust: float) -> float:
        """Mean log probability where weights c Z + (1 − c) m have c = trust."""
        likely = np.maximum(trust * self.own + (1.0 - trust) * self.common, np.finfo(float).tiny)
        return float(self.counts @ np.log(likely) / max(self.counts.sum(), 1.0))


def completed(counts: sp.csr_array, topics: Floats, prior: Floats) -> Completed:
    """Half of the entries of each document, at random, predicted by the others."""
    half = np.random.default_rng(3).integers(2, size=counts.nnz) == 0
    mean = prior / prior.sum()
    weights = infer_documents(without(counts, half), topics, prior)
    weights[weights.sum(axis=1) == 0] = mean
    rest = without(counts, ~half).tocoo()
    documents, words = rest.coords
    own = np.einsum("ij,ij->i", weights[documents], topics.T[words])
    return Completed(rest.data, own, (mean @ topics)[words])


def completion(counts: sp.csr_array, topics: Floats, prior: Floats) -> float:
    """Mean log probability of a half of each document's words, given the other half."""
    return completed(counts, topics, prior).likelihood(1.0)


def held_out_likelihood(counts: sp.csr_array, topics: Floats, prior: Floats) -> float:
    """The same, with weights as far from their mean as suits these topics.

    The weights Z that a half gives are too sure of themselves, and topics too close to each other
    would make up for that. So the words get c Z + (1 − c) m, with the c that suits these topics
    best: otherwise topics read off the points can be likelier than the true ones.
    """
    words = completed(counts, topics, prior)
    found = minimize_scalar(lambda trust: -words.likelihood(trust), bounds=(0.3, 1.0))
    return -float(found.fun)
