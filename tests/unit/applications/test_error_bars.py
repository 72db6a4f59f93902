"""Error bars of topics and endmembers."""

import numpy as np
import pytest

from provenmf import find_topics, load, unmix
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.metrics.matching import match_components
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


def test_intervals_of_endmembers_hold_most_of_the_truth():
    made = mixed_cube(24, 24, 20, 3, snr=30.0, random_state=3)
    found = unmix(made.cube, 3, n_resamples=12, certify=False, evidence=False)
    match = match_components(found.endmembers, made.endmembers)
    bars = found.error_bars
    held = share_held(made.endmembers, bars.lower[match.found_rows], bars.upper[match.found_rows])
    assert held > 0.85 and found.standard_errors.shape == found.endmembers.shape


def test_edited_topics_have_no_error_bars_of_those_before(topics):
    assert topics[1].merge([1, 2]).error_bars is None
