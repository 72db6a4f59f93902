import numpy as np
import scipy.sparse as sp

from provenmf.applications.topics.kernels import (
    add_shared_in_place,
    draw_words_in_place,
    number_folds_in_place,
)

WORD = 2**64 - 1


def plain_fold(document, column, n_folds):
    mixed = (document * 0x9E3779B97F4A7C15 + (column + 1) * 0xBF58476D1CE4E5B9) & WORD
    mixed ^= mixed >> 30
    mixed = mixed * 0x94D049BB133111EB & WORD
    mixed ^= mixed >> 31
    mixed = mixed * 0xD6E8FEB86659FD93 & WORD
    return (mixed >> 33) % n_folds


def test_folds_equal_the_plain_hash():
    rng = np.random.default_rng(0)
    counts = sp.csr_array(rng.random((9, 40)) * (rng.random((9, 40)) < 0.3))
    documents = np.arange(1000, 1009)
    folds = np.empty(counts.nnz, dtype=np.int8)
    number_folds_in_place(counts.indptr, counts.indices, documents, 4, folds)
    rows = np.repeat(documents, np.diff(counts.indptr))
    expected = [plain_fold(int(d), int(w), 4) for d, w in zip(rows, counts.indices)]
    np.testing.assert_array_equal(folds, expected)


def test_shares_equal_the_plain_sums():
    rng = np.random.default_rng(1)
    counts = sp.csr_array(rng.poisson(0.5, (7, 10)).astype(np.float32))
    folds = rng.integers(3, size=counts.nnz, dtype=np.int8)
    evidence = rng.random((7, 3, 8)).astype(np.float32)
    ease = rng.random((10, 8)).astype(np.float32)
    evidence[4] = 0  # nothing can be shared out there
    expected = np.zeros((10, 8))
    for row in range(2, 7):
        for p in range(counts.indptr[row], counts.indptr[row + 1]):
            word, z = counts.indices[p], evidence[row, folds[p]].astype(float)
            if ease[word] @ z > 0:
                expected[word] += counts.data[p] * z / (ease[word] @ z)
    found = np.zeros((10, 8), dtype=np.float32)
    parts = counts.indptr, counts.indices, counts.data, folds
    add_shared_in_place(*parts, evidence, ease, 2, 7, found)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def plain_number(document, place):
    mixed = ((document + 1) * 0x9E3779B97F4A7C15 + place * 0xD1342543DE82EF95) & WORD
    mixed ^= mixed >> 30
    mixed = mixed * 0xBF58476D1CE4E5B9 & WORD
    mixed ^= mixed >> 27
    mixed = mixed * 0x94D049BB133111EB & WORD
    mixed ^= mixed >> 31
    return (mixed >> 11) / 2**53


def test_drawn_words_are_those_of_the_plain_search():
    frequencies = np.array([0.0, 0.5, 0.1, 0.0, 0.4])
    cumulated = np.cumsum(frequencies)
    guide = np.searchsorted(cumulated, np.arange(16) / 16, side="right").astype(np.int32)
    ends, documents = np.array([0, 4, 4, 300]), np.array([7, 8, 9])
    words = np.empty(300, dtype=np.int32)
    draw_words_in_place(ends, documents, cumulated, guide, words)
    places = [(7, place) for place in range(4)] + [(9, place) for place in range(296)]
    numbers = [plain_number(*each) for each in places]
    np.testing.assert_array_equal(words, np.searchsorted(cumulated, numbers, side="right"))
    assert set(words) == {1, 2, 4}
