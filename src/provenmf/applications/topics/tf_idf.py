"""Features of documents from counts: frequent words in a document weigh more, common ones less."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.linalg.scaling import inverse_where_positive


def rarity_of(documents: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """log(n / df) of each word, from the number of documents that have it."""
    return np.asarray(np.log(n_documents / np.maximum(documents, 1)))


def tf_idf(counts: sp.csr_array, rarity: NDArray[np.float64] | None = None) -> sp.csr_array:
    """(1 + log tf) · log(n / df), rows not normalised (Nguyen22's protocol).

    `rarity` is that of other documents, for weights of new ones.
    """
    weighted = sp.csr_array(counts, copy=True)
    weighted.eliminate_zeros()
    if rarity is None:
        rarity = rarity_of(document_frequency(weighted), weighted.shape[0])
    weighted.data = (1 + np.log(weighted.data)) * rarity[weighted.indices]
    return weighted


def document_frequency(counts: sp.csr_array) -> NDArray[np.int64]:
    """In how many documents each word occurs."""
    return np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])


def unit_documents(counts: sp.csr_array) -> sp.csr_array:
    """tf-idf documents scaled to unit length, for methods that factorize documents."""
    features = tf_idf(counts)
    lengths = np.sqrt(features.multiply(features).sum(axis=1))
    return sp.csr_array(sp.diags_array(inverse_where_positive(lengths)) @ features)
