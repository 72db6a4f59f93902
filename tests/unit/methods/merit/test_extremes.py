"""The farthest rows in many directions against numpy's first largest and smallest entries."""

import numpy as np
import pytest

from provenmf.methods.merit import kernels


@pytest.mark.parametrize("pieces", [1, 3])
def test_note_extremes(pieces):
    """Entries are few different numbers: of rows that reach equally far the first one counts."""
    rng = np.random.default_rng(0)
    along = rng.integers(-4, 5, (60, 37)).astype(np.float32)
    best = np.full((2, 37), -np.inf, dtype=np.float32)
    where = np.zeros((2, 37), dtype=np.int32)
    for rows in np.array_split(np.arange(60), pieces):
        kernels.note_extremes_in_place(along[rows], 100 + rows[0], best, where)
    np.testing.assert_array_equal(best, [along.max(axis=0), -along.min(axis=0)])
    np.testing.assert_array_equal(where, [100 + along.argmax(axis=0), 100 + along.argmin(axis=0)])
