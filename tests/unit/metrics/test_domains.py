import math

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.errors import InvalidInput
from provenmf.metrics.matching import averaged_spearman, clustering_accuracy, spearman_correlations
from provenmf.metrics.recovery import compare_endmembers, spectral_angles
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence


def plain_coherence(words, counts, smoothing=0.01):
    total = 0.0
    for later in range(1, len(words)):
        for earlier in range(later):
            both = sum((row[words[later]] > 0) and (row[words[earlier]] > 0) for row in counts)
            alone = sum(row[words[earlier]] > 0 for row in counts)
            total += math.log((both + smoothing) / alone)
    return total


def test_coherence_equals_the_plain_loop():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, (30, 12))
    words = np.array([[3, 1, 5, 0], [2, 3, 11, 4]])
    expected = [plain_coherence(row, counts) for row in words]
    np.testing.assert_allclose(topic_coherence(words, counts), expected)
    np.testing.assert_allclose(topic_coherence(words, sp.csr_array(counts)), expected)


def test_coherence_refuses_words_without_documents():
    with pytest.raises(InvalidInput, match="word 1 occurs in no document"):
        topic_coherence([[0, 1]], np.array([[1, 0], [2, 0]]))


def test_similarity_count_sums_over_pairs():
    words = [[0, 1, 2], [2, 1, 5], [1, 8]]  # lists may be of different lengths
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = sum(len(set(words[a]) & set(words[b])) for a, b in pairs)
    assert similarity_count(words) == expected == 4


def test_top_words_are_ordered_and_ties_go_to_the_first():
    assert top_words([[0.1, 0.5, 0.5, 0.2]], 3).tolist() == [[1, 2, 3]]


def test_clustering_accuracy_ignores_names_and_counts_mistakes():
    classes = ["a", "a", "a", "b", "b", "c"]
    assert clustering_accuracy([5, 5, 5, 9, 9, 1], classes) == 1.0
    assert clustering_accuracy([5, 5, 9, 9, 9, 1], classes) == pytest.approx(5 / 6)
    assert clustering_accuracy([0] * 6, classes) == 0.5
    with pytest.raises(InvalidInput, match="equal numbers"):
        clustering_accuracy([1], classes)


def test_spearman_agrees_with_scipy_and_finds_the_permutation():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    found, true = rng.integers(0, 5, (40, 3)), rng.integers(0, 5, (40, 3))
    ours = spearman_correlations(found, true)
    for i in range(3):
        for j in range(3):
            assert ours[i, j] == pytest.approx(spearmanr(found[:, i], true[:, j]).statistic)
    assert averaged_spearman(true[:, [2, 0, 1]] ** 3, true) == pytest.approx(1.0)
    assert averaged_spearman(np.ones((40, 3)), true) == 0.0
    with pytest.raises(InvalidInput, match="equal numbers"):
        averaged_spearman(found[:, :2], true)


def test_endmembers_are_matched_by_angle():
    true = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 1]])
    abundances = np.random.default_rng(2).dirichlet(np.ones(3), 20)
    order = [2, 0, 1]
    agreement = compare_endmembers(3 * true[order], true, abundances[:, order], abundances)
    np.testing.assert_allclose(agreement.angles, 0, atol=1e-7)
    assert agreement.abundance_rmse == pytest.approx(0)
    assert np.array(order)[agreement.order].tolist() == [0, 1, 2]
    assert spectral_angles(true, true)[0, 1] == pytest.approx(math.pi / 2)
    assert spectral_angles(true, true)[1, 2] == pytest.approx(math.pi / 4)
