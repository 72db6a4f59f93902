from provenmf.applications import find_topics
from provenmf.datasets.corpora import topic_corpus
from provenmf.report.elements import Chart
from provenmf.report.matrix import found


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
