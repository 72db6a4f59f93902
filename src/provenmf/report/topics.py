"""Topics: words as bars with the anchor word marked, and the documents that show them best."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from provenmf.applications.topics import Topics
from provenmf.applications.topics.edits import joining_order
from provenmf.report import matrix
from provenmf.report.elements import (
    Bar,
    Card,
    Cards,
    Chart,
    Element,
    Example,
    Paragraph,
    Table,
)
from provenmf.report.figures import Bubbles, Lines, Tree
from provenmf.results.estimates import ErrorBars

# Topics over time, or by any other property of the documents.

MOST_POINTS = 60
MOST_GROUPS = 40
DATE = re.compile(r"\d{4}-\d{2}(-\d{2}.*)?$")


def by_group(answer: Topics) -> list[Element]:
    """Draw curves over dates and numbers; list other groups in a table."""
    if answer.document_groups is None:
        return []
    name = answer.grouped_by
    groups, shares = answer.grouped(merged(answer.document_groups), name).group_shares()
    if len(groups) < 2:
        return []
    numbers = as_numbers(groups)
    if numbers is not None or are_dates(groups):
        order = np.arange(len(groups)) if numbers is None else np.argsort(numbers)
        at = [groups[i] for i in order] if numbers is None else numbers[order]
        curves = [(n, at, shares[order, i]) for i, n in enumerate(answer.component_names)]
        caption = "Share of each topic among the documents of each point."
        return [Chart(f"Topics by {name}", Lines(curves, name, "share"), caption, height=420)]
    sizes = np.array([np.count_nonzero(answer.document_groups == group) for group in groups])
    shown = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
    caption = f"The share of each topic among the documents of each {name}."
    if len(shown) < len(groups):
        caption += f" Shown: the {MOST_GROUPS} with most documents of {len(groups):,}."
    rows = [[groups[i], f"{sizes[i]:,}", *(f"{share:.0%}" for share in shares[i])] for i in shown]
    header = [name, "documents", *answer.component_names]
    return [Table(f"Topics by {name}", header, rows, caption, unbroken=True)]


def as_numbers(groups: list[str]) -> NDArray[np.float64] | None:
    """Return the groups as numbers if all are."""
    try:
        numbers = np.array(groups, dtype=np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def are_dates(groups: list[str]) -> bool:
    """Tell whether every group is a date such as 2026-05 or 2026-05-17."""
    return all(DATE.match(group) for group in groups)


def merged(groups: NDArray[np.str_]) -> list[str]:
    """Merge many dates into days, months or years, and many numbers into intervals."""
    values = [str(group) for group in groups]
    if len(set(values)) <= MOST_POINTS:
        return values
    if are_dates(values):
        cuts = [[value[:length] for value in values] for length in (10, 7, 4)]
        return next((cut for cut in cuts if len(set(cut)) <= MOST_POINTS), cuts[-1])
    numbers = as_numbers(values)
    if numbers is None:
        return values
    edges = np.linspace(numbers.min(), numbers.max(), MOST_POINTS // 2 + 1)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return [f"{middle:.6g}" for middle in (edges[:-1] + edges[1:])[place] / 2]


# Topics as circles and documents as points on a plane, near where alike, and topics as a tree.

WORDS = 12
MOST_TOPICS = 150
MOST_DOCUMENTS = 1500


def topic_map(answer: Topics) -> list[Element]:
    """Draw topics and documents on one plane, and how topics would be joined."""
    k = answer.n_components
    if not 2 <= k <= MOST_TOPICS:
        return []
    topics = np.clip(np.nan_to_num(answer.topics), 0.0, 1.0)  # a file may hold anything
    # Rounding may leave a root of less than zero between nearly equal topics; one is the largest.
    apart = np.nan_to_num(cdist(topics, topics, "jensenshannon"), posinf=1.0)
    positions = flat_positions(np.minimum(apart, 1.0))
    words = answer.top_words(WORDS)
    named = [f"{n}: {', '.join(w[:2])}" for n, w in zip(answer.component_names, words)]
    circles = Bubbles(positions, answer.share, answer.component_names, words)
    caption = (
        "Each circle is a topic; its area is the topic's share, and similar topics are near each "
        "other. Choose one to see its documents."
    )
    return [
        Chart("Map of the topics", circles, caption, height=520),
        matrix.map_between(
            answer,
            "Map of the documents",
            positions,
            named,
            np.flatnonzero(answer.document_weights.any(axis=1)),
            most=MOST_DOCUMENTS,
            height=620,
        ),
        *topic_tree(answer, named),
    ]


def topic_tree(answer: Topics, named: list[str]) -> list[Element]:
    """Draw which topics would be joined first, as by `Topics.reduced_to`."""
    if answer.n_components < 3:
        return []
    merges = joining_order(answer.topics, answer.share)
    losses = np.cumsum([lost for _, _, lost in merges]).tolist()
    joins = [(first, second, loss) for (first, second, _), loss in zip(merges, losses)]
    caption = (
        "Joins near the left lose least. The axis shows how much information about words is lost "
        "when topics are joined up to there; Topics.reduced_to joins them in this order."
    )
    figure = Tree(named, joins, "information lost (nats per word)")
    return [Chart("How topics belong together", figure, caption, 90 + 24 * len(named))]


def likeliest(answer: Topics, topic: int, count: int) -> NDArray[np.intp]:
    """Return the words that distinguish a topic most, the most probable of them first."""
    places = np.asarray(answer.top_places(count)[topic], dtype=np.intp)
    return places[np.argsort(-answer.topics[topic, places], kind="stable")]


def flat_positions(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points on a plane (n, 2) whose distances are near the given ones (n, n).

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


SEARCHED = 100
EXCERPT = 220


def found(answer: Topics) -> list[Element]:
    """Return the elements of the first tab."""
    summary = (
        f"{answer.n_components} topics in {len(answer.weights):,} documents over "
        f"{answer.components.shape[1]:,} words."
    )
    return [
        Paragraph(summary),
        Cards("Topics", _cards(answer), _caption(answer)),
        *topic_map(answer),
        *by_group(answer),
    ]


def _cards(answer: Topics) -> list[Card]:
    """Return a card for each topic, the largest first; more words are searched than shown."""
    searched = answer.top_columns(SEARCHED)
    return [
        Card(
            title=answer.component_names[topic],
            subtitle=_subtitle(answer, topic),
            bars=word_bars(answer, topic, likeliest(answer, topic, WORDS)),
            examples=_examples(answer, topic),
            words=" ".join(answer.vocabulary[searched[topic]]),
            component=topic + 1,
        )
        for topic in matrix.by_size(answer)
    ]


def _caption(answer: Topics) -> str:
    """Describe the cards, as far as this answer has their contents."""
    caption = (
        "The largest topic comes first. Its words are those that distinguish it most; bars show "
        "their probability in the topic."
    )
    if answer.anchor_columns is not None:
        caption += (
            " A star marks the anchor word, which the model takes to occur in this topic only."
        )
    if answer.error_bars is not None:
        caption += " Whiskers are estimated 95 % intervals, cut at the longest bar."
    caption += " Examples are documents with a large share of the topic, the longest first."
    return caption + (
        " NPMI says how often the top words occur together, from -1 (never) to 1 (always); c_v "
        "measures the same, from 0 to 1."
    )


def word_bars(answer: Topics, topic: int, order: NDArray[np.intp]) -> list[Bar]:
    """Return the words at the given places, the anchor marked if it is among them."""
    values = answer.components[topic]
    anchor = None if answer.anchor_columns is None else int(answer.anchor_columns[topic])
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
    """Return the interval of an entry on a scale that ends at `largest`, cut there."""
    if bars is None:
        return None
    ends = np.clip([bars.lower[row, column] / largest, bars.upper[row, column] / largest], 0, 1)
    return float(ends[0]), float(ends[1])


def _subtitle(answer: Topics, topic: int) -> str:
    coherence = f"NPMI {answer.npmi[topic]:.2f}, c_v {answer.cv[topic]:.2f}"
    return f"{answer.share[topic]:.1%} of the collection, {coherence}"


def _examples(answer: Topics, topic: int) -> list[Example]:
    """Return the example documents that the application chose, with their first characters."""
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
    whole = " ".join(str(text).split())
    return whole if len(whole) <= EXCERPT else whole[: EXCERPT - 1] + "…"
