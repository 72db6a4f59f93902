"""Bounds of Nguyen22 that the experiment merit-lemmas compares with the path of Algorithm 1."""

import numpy as np

from provenmf.reproduce import merit


def test_lemma_1_and_proposition_1():
    rng = np.random.default_rng(0)
    H = np.vstack([np.eye(5), rng.dirichlet(np.ones(5), 30)])
    C = np.maximum(H + 0.05 * rng.standard_normal(H.shape), 0)
    C /= C.sum(axis=1, keepdims=True)
    omega = np.linalg.norm(C @ np.eye(5) - H, axis=1).max()
    assert omega < 2 / np.sqrt(5)
    assert (C.max(axis=0) >= merit.lemma_1_bound(omega, 5)).all()
    start = rng.dirichlet(np.ones(3), 12)
    bound = merit.proposition_1_bound(start, 2, 8)
    C = start.copy()
    for t in range(2, 8):
        C = (1 - 2 / (t + 2)) * C
        C[np.arange(12), rng.integers(0, 3, 12)] += 2 / (t + 2)
        assert 0 < bound <= merit.smallest_difference(C) + 1e-12
    assert merit.proposition_1_bound(np.eye(3), 1, 9) == 0
