"""Topics as circles on a plane, near where alike, with their words by relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics import Topics
from provenmf.metrics.topics import relevance, top_words
from provenmf.report.elements import Chart, Element, TopicMap
from provenmf.report.figures import Bubbles

WORDS = 25
MIXES = np.linspace(0.0, 1.0, 11)  # where the slider can stand
MOST_TOPICS = 150


def topic_map(answer: Topics) -> list[Element]:
    """The map that users of LDAvis know (Sievert & Shirley 2014); none for a single topic."""
    if not 2 <= answer.n_components <= MOST_TOPICS:
        return []
    frequency = overall_frequency(answer)
    figure = Bubbles(
        flat_positions(divergences(answer.topics)),
        answer.share,
        answer.component_names,
        [_terms(answer, topic, frequency) for topic in range(answer.n_components)],
    )
    caption = (
        "Each circle is a topic; its area is the topic's share, and similar topics are near each "
        "other. Choose one to see its words. Light bars show how often a word occurs overall, "
        "orange bars how often within the topic. Move λ to the left for words specific to the "
        "topic, to the right for frequent words."
    )
    chart = Chart("Topics by similarity", figure, height=520)
    return [TopicMap("Map of the topics", chart, caption)]


def overall_frequency(answer: Topics) -> NDArray[np.float64]:
    """Share of each word among all; from topics and their shares where it was not counted."""
    if answer.word_frequency is not None:
        return answer.word_frequency
    return np.asarray(answer.share @ answer.topics)


def divergences(topics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Square root of the Jensen-Shannon divergence of every two topics (k, k)."""

    def entropy(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        logarithms = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
        return -np.asarray((rows * logarithms).sum(axis=-1))

    topics = np.clip(np.nan_to_num(topics), 0.0, 1.0)  # a file may hold anything
    own = entropy(topics)
    table = np.array([entropy((topics + row) / 2) - (own + entropy(row)) / 2 for row in topics])
    return np.asarray(np.sqrt(np.maximum(table, 0.0)))


def _terms(
    answer: Topics, topic: int, frequency: NDArray[np.float64]
) -> list[tuple[str, float, float]]:
    """Word, its share in the topic and in all, for every word that the slider can bring up."""
    row = answer.topics[[topic]]
    chosen = {
        int(word)
        for mix in MIXES
        for word in top_words(relevance(row, frequency, mix=mix), WORDS)[0]
    }
    return [
        (str(answer.vocabulary[word]), float(row[0, word]), float(frequency[word]))
        for word in sorted(chosen)
        if row[0, word] > 0 and frequency[word] > 0
    ]


def flat_positions(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points on a plane (n, 2) whose distances are near the given ones (n, n).

    Classical scaling (Torgerson 1952): leading eigenvectors of the doubly centred squares.
    """
    n = len(distances)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    lengths = np.sqrt(np.maximum(values[::-1][:2], 0.0))
    positions = np.zeros((n, 2))
    leading = vectors[:, ::-1][:, :2]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])
    positions[:, : leading.shape[1]] = leading * (lengths * signs)[: leading.shape[1]]
    return positions
