import numpy as np

from provenmf.linalg.scaling import inverse_where_positive, unit_rows


def test_unit_rows_keep_zero_rows():
    rows = np.array([[3, 4], [0, 0]], dtype=np.float32)
    scaled = unit_rows(rows)
    np.testing.assert_allclose(scaled, [[0.6, 0.8], [0, 0]])
    assert scaled.dtype == np.float64 and rows[0, 0] == 3


def test_inverse_is_zero_for_what_is_not_positive():
    np.testing.assert_array_equal(inverse_where_positive(np.array([4.0, 0.0, -2.0])), [0.25, 0, 0])
