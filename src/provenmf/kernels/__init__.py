"""Numba loops by family, as in `solvers`; each has a plain twin in `tests/unit/kernels`."""
