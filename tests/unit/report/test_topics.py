"""Pages of topics."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from provenmf.applications import find_topics
from provenmf.datasets.corpora import topic_corpus
from provenmf.report.elements import Cards, Chart
from provenmf.report.figures import HeatMap, Lines
from provenmf.report.matrix import found
from provenmf.report.topics import by_group, divergences, merged, topic_map


def charts(answer):
    return {element.title: element for element in found(answer) if isinstance(element, Chart)}


def test_the_number_of_topics_is_drawn_where_it_was_found():
    corpus = topic_corpus(800, 300, 4, word_concentration=0.05, random_state=0)
    answer = find_topics(corpus.counts, certify=False)
    chart = charts(answer)["How many topics"]
    values, noise = (y for _, _, y in chart.figure.series)
    assert len(values) == len(answer.eigenvalues)
    assert sum(value > noise[0] for value in values) >= 4
    given = find_topics(corpus.counts, 4, certify=False)
    assert "How many topics" not in charts(given)


def test_distances_of_topics_are_those_of_scipy():
    topics = np.random.default_rng(0).dirichlet(np.full(30, 0.1), size=4)
    topics[0, :10] = 0
    topics /= topics.sum(axis=1, keepdims=True)
    oracle = [[jensenshannon(a, b) for b in topics] for a in topics]
    np.testing.assert_allclose(divergences(topics), oracle, atol=1e-7)


def test_every_word_that_the_slider_can_bring_up_is_there(results):
    answer = results["topics"]
    (shown,) = topic_map(answer)
    words = {word for word, _, _ in shown.chart.figure.terms[2]}
    assert answer.vocabulary[answer.topics[2].argsort()[::-1][:25]].tolist()[:10] == [
        word for word in answer.vocabulary[answer.topics[2].argsort()[::-1][:10]] if word in words
    ]


def test_cards_come_by_size(results):
    cards = next(e for e in found(results["topics"]) if isinstance(e, Cards)).cards
    shares = results["topics"].share
    assert [card.component - 1 for card in cards] == np.argsort(-shares).tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"{1900 + i}" for i in range(40)], Lines),
        ([f"19{10 + i % 20}-05" for i in range(40)], Lines),
        (["Anna", "Bob", "Carl", "9"] * 10, HeatMap),
    ],
)
def test_groups_on_a_line_are_curves(results, values, kind):
    answer = results["topics"].grouped(values, "group")
    (chart,) = by_group(answer)
    assert isinstance(chart.figure, kind)
    if kind is Lines:
        _, x, y = chart.figure.series[0]
        assert list(x) == sorted(x) and len(x) == len(y)


def test_one_group_has_no_chart(results):
    assert by_group(results["topics"].grouped(["same"] * 40)) == []
    assert by_group(replace(results["topics"], document_groups=None)) == []


def test_many_dates_become_months_or_years():
    days = [f"2020-{m:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)]
    assert set(merged(np.array(days))) == {f"2020-{m:02}" for m in range(1, 13)}
    assert len(set(merged(np.array([str(i) for i in range(1000)])))) == 30
