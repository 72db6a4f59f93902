"""Topics: words as bars with the anchor word marked, and the documents that show them best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics import Topics
from provenmf.metrics.matching import cosine_table
from provenmf.report import figures, matrix
from provenmf.report.elements import Bar, Card, Cards, Chart, Element, Example, Paragraph
from provenmf.report.topic_groups import by_group
from provenmf.report.topic_map import topic_map
from provenmf.results.error_bars import ErrorBars

WORDS = 12
SEARCHED = 100
EXCERPT = 220


@matrix.found.register
def found(answer: Topics) -> list[Element]:
    """The elements of the first tab."""
    summary = (
        f"{answer.n_components} topics in {len(answer.weights):,} documents over "
        f"{answer.components.shape[1]:,} words."
    )
    leading = [
        f"{name}: {words[0]}" for name, words in zip(answer.component_names, answer.top_words(1))
    ]
    order = matrix.by_size(answer)
    return [
        Paragraph(summary),
        Cards("Topics", _cards(answer), _caption(answer)),
        Chart(
            "How much of the collection is about each topic",
            figures.Bars(
                [leading[i] for i in order], answer.share[order], "share of all documents"
            ),
            height=110 + 24 * answer.n_components,
        ),
        *topic_map(answer),
        *by_group(answer),
        *_similarity(answer, leading),
        *_spectrum(answer),
    ]


def _cards(answer: Topics) -> list[Card]:
    """A card for each topic, the largest first; more words are searched than shown."""
    searched, best = answer.top_columns(SEARCHED), answer.top_columns(WORDS)
    return [
        Card(
            title=answer.component_names[topic],
            subtitle=_subtitle(answer, topic),
            bars=word_bars(answer, topic, best[topic]),
            examples=_examples(answer, topic),
            words=" ".join(answer.vocabulary[searched[topic]]),
            component=topic + 1,
        )
        for topic in matrix.by_size(answer)
    ]


def _caption(answer: Topics) -> str:
    """What the cards show, as far as this answer has it."""
    caption = (
        "The largest topic comes first, and in it the words that distinguish it most. Bars show "
        "the probability of a word in the topic."
    )
    if answer.anchor_columns is not None:
        caption += (
            " A star marks the anchor word, which the model takes to occur in this topic only."
        )
    if answer.error_bars is not None:
        caption += " Whiskers are estimated 95 % intervals, cut at the longest bar."
    caption += " Examples are documents with a large share of the topic, the longest first."
    if answer.npmi is not None:
        caption += (
            " NPMI says how often the top words occur together, from -1 (never) to 1 (always)."
        )
    if answer.cv is not None:
        caption += " c_v measures the same, from 0 to 1."
    return caption


def _spectrum(answer: Topics) -> list[Element]:
    """Eigenvalues against the noise level, where the number of topics was read off them."""
    if answer.eigenvalues is None or not np.isfinite(answer.noise_edge):
        return []
    places = np.arange(1, len(answer.eigenvalues) + 1)
    noise = "largest of words drawn at random"
    figure = figures.Lines(
        [
            ("eigenvalues", places, answer.eigenvalues),
            (noise, places[[0, -1]], np.full(2, answer.noise_edge)),
        ],
        "number",
        "eigenvalue",
        log_y=True,
        dotted=("eigenvalues",),
    )
    caption = (
        "Eigenvalues of the co-occurrence of words. Their largest drop above the noise level comes "
        f"after number {answer.n_components}, which gives the number of topics."
    )
    return [Chart("How many topics", figure, caption, height=340)]


def _similarity(answer: Topics, leading: list[str]) -> list[Element]:
    if answer.n_components < 2:
        return []
    numbers = [str(i + 1) for i in range(answer.n_components)]
    figure = figures.HeatMap(
        np.clip(cosine_table(answer.components, answer.components), -1.0, 1.0),
        leading,
        leading,
        value_label="cosine",
        square=True,
        largest=1.0,
        row_ticks=numbers,
        column_ticks=numbers,
    )
    caption = (
        "Cosine between the word distributions of the numbered topics: 0 for no common words, 1 "
        "for the same distribution."
    )
    return [Chart("How similar the topics are", figure, caption, height=460, narrow=True)]


def word_bars(answer: Topics, topic: int, order: NDArray[np.intp]) -> list[Bar]:
    """The words at the given places; the anchor is shown even if it is not among them."""
    values = answer.components[topic]
    anchor = None if answer.anchor_columns is None else int(answer.anchor_columns[topic])
    if anchor is not None and anchor not in order:
        order = np.append(order, anchor)
    largest = max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    return [
        Bar(
            str(answer.vocabulary[word]),
            f"{values[word]:.2%}",
            float(np.clip(values[word] / largest, 0, 1)),
            marked=word == anchor,
            whisker=whisker(answer.error_bars, topic, int(word), largest),
        )
        for word in order
    ]


def whisker(
    bars: ErrorBars | None, row: int, column: int, largest: float
) -> tuple[float, float] | None:
    """The interval of an entry on a scale that ends at `largest`, cut there."""
    if bars is None or bars.of != "components":
        return None
    ends = np.clip([bars.lower[row, column] / largest, bars.upper[row, column] / largest], 0, 1)
    return float(ends[0]), float(ends[1])


def _subtitle(answer: Topics, topic: int) -> str:
    share = f"{answer.share[topic]:.1%} of the collection"
    if answer.npmi is None:
        return f"{share}, coherence {answer.coherence[topic]:.4g}"
    coherence = f"{share}, NPMI {answer.npmi[topic]:.2f}"
    return coherence if answer.cv is None else f"{coherence}, c_v {answer.cv[topic]:.2f}"


def _examples(answer: Topics, topic: int) -> list[Example]:
    """The example documents that the application chose, with their first characters."""
    if answer.example_documents is None:
        return []
    texts, names = answer.example_texts, answer.row_names
    return [
        Example(
            names[document],
            "" if texts is None else _excerpt(texts[topic, place]),
            f"{answer.document_weights[document, topic]:.0%}",
        )
        for place, document in enumerate(answer.example_documents[topic])
        if 0 <= document < len(names)
    ]


def _excerpt(text: object) -> str:
    return figures.shortened(" ".join(str(text).split()), EXCERPT)
