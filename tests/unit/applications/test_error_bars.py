"""Error bars of topics, memberships and endmembers."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import find_communities, find_topics, load, unmix
from provenmf.applications.communities.corners import (
    NodeModel,
    membership_error_bars,
    memberships_in_plane,
)
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.datasets.networks import mixed_membership_network
from provenmf.metrics.matching import best_assignment, match_components
from provenmf.report import page


def share_held(truth, lower, upper):
    return np.mean((truth >= lower - 1e-12) & (truth <= upper + 1e-12))


@pytest.fixture(scope="module")
def topics():
    corpus = topic_corpus(800, 120, 3, word_concentration=0.05, random_state=1)
    return corpus, find_topics(corpus.counts, 3, n_resamples=12)


def test_intervals_of_topics_hold_most_of_the_truth(topics):
    corpus, found = topics
    truth = corpus.topics[:, found.word_columns]
    match = match_components(truth, found.topics)
    held = share_held(truth[match.found_rows], found.error_bars.lower, found.error_bars.upper)
    assert held > 0.9
    assert found.standard_errors.shape == found.topics.shape
    assert found.error_bars.unstable == ()


def test_error_bars_of_topics_are_saved_shown_and_summarised(topics, tmp_path):
    _, found = topics
    found.save(tmp_path / "topics.npz")
    assert load(tmp_path / "topics.npz") == found
    assert found.tables()["standard_errors"].shape == found.topics.shape
    assert any("12 resamples" in note for note in found.notes)
    assert 'class="whisker"' in page.render(found)


def test_one_topic_too_many_is_unstable():
    corpus = topic_corpus(400, 100, 2, word_concentration=0.05, random_state=0)
    found = find_topics(corpus.counts, 4, n_resamples=20, certify=False)
    assert found.error_bars.returned.min() < 0.8
    assert any("is unstable" in note for note in found.notes)


def test_intervals_of_memberships_hold_most_of_the_truth():
    network = mixed_membership_network(400, 3, mean_degree=50.0, random_state=2)
    found = find_communities(network.adjacency, 3, certify=False, evidence=False)
    rows, columns = best_assignment(found.memberships.T @ network.memberships)
    truth = network.memberships[:, columns[np.argsort(rows)]]
    assert 0.9 < share_held(truth, found.error_bars.lower, found.error_bars.upper) < 0.995
    assert found.tables()["standard_errors"].shape == found.memberships.shape


def test_errors_of_memberships_follow_those_of_the_corners():
    """The delta method against memberships in corners that were moved at random."""
    rng = np.random.default_rng(0)
    values, plane = np.array([3.0, 2.0]), np.array([1.0, 1.0])
    corners = np.array([[0.9, 0.1], [0.2, 0.8]])
    vectors = rng.dirichlet([2.0, 2.0], 4) @ corners
    covariances = 1e-6 * np.array([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])])
    in_plane = np.eye(2) - np.ones((2, 2)) / 2
    covariances = in_plane @ covariances @ in_plane
    model = NodeModel(sp.csr_array((4, 4)), vectors, values, plane)
    found, unknown = memberships_in_plane(model, corners)
    errors = membership_error_bars(model, corners, covariances, found, unknown).standard_errors
    moved = []
    for _ in range(2000):
        elsewhere = [rng.multivariate_normal(c, s) for c, s in zip(corners, covariances)]
        moved.append(memberships_in_plane(model, np.array(elsewhere))[0])
    np.testing.assert_allclose(errors, np.std(moved, axis=0), rtol=0.08)


def test_intervals_of_endmembers_hold_most_of_the_truth():
    made = mixed_cube(24, 24, 20, 3, snr=30.0, random_state=3)
    found = unmix(made.cube, 3, n_resamples=12, certify=False, evidence=False)
    match = match_components(found.endmembers, made.endmembers)
    bars = found.error_bars
    held = share_held(made.endmembers, bars.lower[match.found_rows], bars.upper[match.found_rows])
    assert held > 0.85 and found.standard_errors.shape == found.endmembers.shape


def test_edited_topics_have_no_error_bars_of_those_before(topics):
    assert topics[1].merge([1, 2]).error_bars is None
