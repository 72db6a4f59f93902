from itertools import permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from provenmf.errors import InvalidInput
from provenmf.metrics.matching import averaged_spearman, clustering_accuracy, match_components


def test_finds_a_hidden_permutation_and_the_scales():
    rng = np.random.default_rng(0)
    truth = rng.random((5, 12))
    order, factors = rng.permutation(5), rng.uniform(0.5, 3.0, 5)
    found = factors[:, None] * truth[order]
    matching = match_components(found, truth)
    assert np.array_equal(order[matching.found_rows], np.arange(5))
    np.testing.assert_allclose(matching.components_like_truth(found), truth)


def test_total_cosine_equals_the_best_over_all_permutations():
    rng = np.random.default_rng(1)
    found, truth = rng.standard_normal((4, 6)), rng.standard_normal((4, 6))
    lengths = np.linalg.norm(truth, axis=1)[:, None] * np.linalg.norm(found, axis=1)
    table = truth @ found.T / lengths
    for signed in (False, True):
        values = np.abs(table) if signed else table
        best = max(sum(values[i, p[i]] for i in range(4)) for p in permutations(range(4)))
        cosines = match_components(found, truth, signed=signed).cosines
        total = np.abs(cosines).sum() if signed else cosines.sum()
        assert total == pytest.approx(best)


def test_zero_rows_and_missing_rows_are_matched_without_nan():
    truth = np.eye(3)
    found = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    matching = match_components(found, truth)
    assert 1 in matching.true_rows and len(matching.true_rows) == 2
    assert np.isfinite(matching.scales).all()


def test_different_widths_are_refused():
    with pytest.raises(InvalidInput, match="equally many columns"):
        match_components(np.ones((2, 3)), np.ones((2, 4)))


def test_clustering_accuracy_ignores_names_and_counts_mistakes():
    classes = ["a", "a", "a", "b", "b", "c"]
    assert clustering_accuracy([5, 5, 5, 9, 9, 1], classes) == 1.0
    assert clustering_accuracy([5, 5, 9, 9, 9, 1], classes) == pytest.approx(5 / 6)
    assert clustering_accuracy([0] * 6, classes) == 0.5
    with pytest.raises(InvalidInput, match="equal numbers"):
        clustering_accuracy([1], classes)


def test_spearman_agrees_with_scipy_and_finds_the_permutation():
    rng = np.random.default_rng(1)
    found, true = rng.integers(0, 5, (40, 1)), rng.integers(0, 5, (40, 3))
    expected = spearmanr(found[:, 0], true[:, 0]).statistic
    assert averaged_spearman(found, true[:, :1]) == pytest.approx(expected)
    assert averaged_spearman(true[:, [2, 0, 1]] ** 3, true) == pytest.approx(1.0)
    assert averaged_spearman(np.ones((40, 3)), true) == 0.0
    with pytest.raises(InvalidInput, match="equal numbers"):
        averaged_spearman(found, true)
