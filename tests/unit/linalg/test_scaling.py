import numpy as np

from provenmf.linalg.norms import inverse_where_positive, rows_to_sum_one, unit_rows


def test_unit_rows_keep_zero_rows():
    rows = np.array([[3, 4], [0, 0]], dtype=np.float32)
    scaled = unit_rows(rows)
    np.testing.assert_allclose(scaled, [[0.6, 0.8], [0, 0]])
    assert scaled.dtype == np.float64 and rows[0, 0] == 3


def test_inverse_is_zero_for_what_is_not_positive():
    np.testing.assert_array_equal(inverse_where_positive(np.array([4.0, 0.0, -2.0])), [0.25, 0, 0])


def test_rows_without_a_positive_sum_become_zero():
    rows = np.array([[1.0, 3.0], [0.0, 0.0], [1.0, -2.0]])
    np.testing.assert_array_equal(rows_to_sum_one(rows), [[0.25, 0.75], [0, 0], [0, 0]])
    assert rows[0, 0] == 1
