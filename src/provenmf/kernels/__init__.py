"""Numba loops: arrays in, arrays out; each has a plain numpy twin in the tests."""
