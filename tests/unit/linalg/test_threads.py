"""BLAS threads: one for small matrices, as many as before for large ones."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from provenmf.linalg.threads import SMALL_MATRIX, blas_threads_for


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.mark.parametrize(("entries", "inside"), [(SMALL_MATRIX - 1, 1), (SMALL_MATRIX, 2)])
def test_small_matrices_get_one_thread(entries, inside):
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        if before != {2}:
            pytest.skip("this BLAS does not take two threads here")
        with blas_threads_for(entries):
            assert blas_threads() == {inside}
        assert blas_threads() == before
