"""The fingerprint of a matrix against whole numbers of Python, cut to 64 bits."""

import numpy as np
import scipy.sparse as sp

from provenmf.linalg import fingerprint as kernels

CUT = 2**64 - 1


def plain_hashes(bits, place):
    one = (bits * 0x9E3779B97F4A7C15 + (place + 1) * 0xBF58476D1CE4E5B9) & CUT
    one = ((one ^ one >> 31) * 0x94D049BB133111EB) & CUT
    one ^= one >> 29
    two = (one * 0xD6E8FEB86659FD93) & CUT
    two = ((two ^ two >> 32) * 0xA0761D6478BD642F) & CUT
    return one, two ^ two >> 30


def plain_sums(matrix, first_row):
    sums = [0, 0]
    for i, j in np.argwhere(matrix != 0):
        bits = int(matrix[i, j : j + 1].view(np.uint64)[0])
        hashes = plain_hashes(bits, (first_row + int(i)) * matrix.shape[1] + int(j))
        sums = [(total + new) & CUT for total, new in zip(sums, hashes)]
    return sums


def matrix():
    rng = np.random.default_rng(0)
    made = rng.standard_normal((7, 5)) * (rng.random((7, 5)) < 0.5)
    made[2, 1] = -0.0
    return made


def test_mixed():
    for bits, place in ((1, 0), (2**63 + 17, 12345), (CUT, 2**40)):
        found = kernels.mixed(np.uint64(bits), np.uint64(place))
        assert tuple(map(int, found)) == plain_hashes(bits, place)


def test_add_dense_hashes():
    sums = np.array([3, 4], dtype=np.uint64)
    kernels.add_dense_hashes_in_place(matrix().view(np.uint64), 10, sums)
    expected = plain_sums(matrix(), 10)
    assert [int(s) for s in sums] == [(3 + expected[0]) & CUT, (4 + expected[1]) & CUT]


def test_add_sparse_hashes():
    stored = sp.csr_array(matrix())
    stored.data[0] = 0.0  # stored, but a zero
    sums = np.zeros(2, dtype=np.uint64)
    kernels.add_sparse_hashes_in_place(
        stored.indptr, stored.indices, stored.data.view(np.uint64), 5, 10, sums
    )
    assert [int(s) for s in sums] == plain_sums(stored.toarray(), 10)
