"""The fingerprint is the same for every storage and block, and different for other entries."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA
from provenmf.data.door import fingerprint, row_hashes, same_values


def of(block, cuts=(), sparse=False):
    """The fingerprint of a matrix cut into blocks at some rows."""
    ends = [0, *cuts, len(block)]
    parts = (block[start:stop] for start, stop in zip(ends, ends[1:]))
    hashes = (row_hashes(sp.csr_array(part) if sparse else part) for part in parts)
    return fingerprint(block.shape, block.dtype, *hashes)


def matrix(share, rows=500, columns=7):
    rng = np.random.default_rng(0)
    made = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < share)
    made[2, 0] = -0.0
    made[:2] = [[1.0], [2.0]]
    return made


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("columns", [1, 7, 300])
def test_storage_and_blocks_do_not_matter(share, columns):
    made = matrix(share, columns=columns)
    expected = of(made)
    for cuts in ((1,), (64, 128), (3, 4, 5, 499), tuple(range(1, 500, 37)), (0, 0, 500)):
        assert of(made, cuts) == of(made, cuts, sparse=True) == expected
    assert of(np.asfortranarray(made)) == expected
    assert same_values(of(made.astype(np.float32).astype(np.float64)), of(made.astype(np.float32)))


def test_stored_zeros_and_repeated_entries_do_not_matter():
    made = matrix(0.3)
    stored = sp.csr_array(made)
    stored.data[0] = 0.0
    made[np.nonzero(made)[0][0], np.nonzero(made)[1][0]] = 0.0
    assert fingerprint(made.shape, made.dtype, row_hashes(stored)) == of(made)
    twice = sp.csr_array((np.ones(2), [3, 3], [0, 2]), shape=(1, 7))
    assert of(twice.toarray()) == fingerprint((1, 7), made.dtype, row_hashes(twice))


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_every_entry_and_every_place_counts(share):
    made = matrix(share)
    seen = {of(made)}
    for change in (
        lambda m: m.__setitem__((499, 6), m[499, 6] + 1e-9),
        lambda m: m.__setitem__((0, 0), np.nextafter(m[0, 0], 2)),
        lambda m: m.__setitem__([0, 1], m[[1, 0]]),
        lambda m: m.__setitem__([0, 300], m[[300, 0]] + 1),
        lambda m: m.__setitem__((slice(None), [0, 1]), m[:, [1, 0]]),
    ):
        changed = made.copy()
        change(changed)
        seen.add(of(changed))
    assert len(seen) == 6
    assert of(made.reshape(250, 14)) not in seen


def test_certificates_checkpoints_and_data_that_may_change_are_hashed(tmp_path):
    made = np.abs(matrix(0.9))
    plain = SPA(2, certify=False)
    assert plain.fit(made).factorization_.fingerprint == ""
    expected = of(made)
    assert SPA(2).fit(made).factorization_.fingerprint == expected
    kept = HALS(2, max_iter=2, tol=0, certify=False, random_state=0)
    assert kept.fit(made, checkpoint=tmp_path).factorization_.fingerprint == expected
    array = pytest.importorskip("dask.array").from_array(made, chunks=(90, 7))
    assert plain.fit(array).factorization_.fingerprint == expected
