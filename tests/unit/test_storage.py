import numpy as np
import scipy.sparse as sp

from provenmf.linalg.norms import row_sums
from provenmf.linalg.storage import as_dense, stored_values

DENSE = np.array([[0.0, 2.0, -1.0], [0.0, 0.0, 0.0]])
SPARSE = sp.csr_array(DENSE)


def test_dense_and_sparse_give_the_same_array():
    np.testing.assert_array_equal(as_dense(SPARSE), DENSE)
    assert as_dense(DENSE) is DENSE


def test_stored_values_leave_out_what_is_not_stored():
    np.testing.assert_array_equal(stored_values(SPARSE), [2, -1])
    assert stored_values(DENSE).shape == DENSE.shape


def test_row_sums_are_in_double_precision():
    for block in (DENSE.astype(np.float32), SPARSE.astype(np.float32)):
        sums = row_sums(block)
        np.testing.assert_array_equal(sums, [1, 0])
        assert sums.dtype == np.float64
