"""A sparse matrix of mixing weights as MERIT keeps it, and as an array."""

import numpy as np
import pytest


class Pairs:
    """Random rows on the simplex with one to three entries, in room for six."""

    def __init__(self, rows: int = 14, size: int = 6) -> None:
        rng = np.random.default_rng(5)
        self.size = size
        self.index = np.zeros((rows, 6), dtype=np.int32)
        self.value = np.zeros((rows, 6))
        self.count = rng.integers(1, 4, rows).astype(np.int32)
        for row, count in enumerate(self.count):
            self.index[row, :count] = rng.permutation(size - 1)[:count]  # the last one is unused
            self.value[row, :count] = rng.dirichlet(np.ones(count))

    def dense(self):
        C = np.zeros((len(self.count), self.size))
        for row, count in enumerate(self.count):
            C[row, self.index[row, :count]] = self.value[row, :count]
        return C

    @property
    def parts(self):
        return self.index, self.value, self.count


@pytest.fixture
def pairs():
    return Pairs()
