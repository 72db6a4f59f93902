"""Topics: words as bars with the anchor word marked, and the documents that show them best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.elements import Bar, Card, Cards, Chart, Element, Example, Paragraph
from provenmf.report.naming import component_names, names_of, scores

WORDS = 12
EXAMPLES = 3
EXCERPT = 220


def found(result: Factorization) -> list[Element]:
    """The elements of the first tab."""
    vocabulary = names_of(result, "vocabulary", result.components.shape[1], "word")
    documents = names_of(result, "document_names", len(result.weights), "document")
    names = component_names(result, "Topic")
    share = shares(result.weights)
    cards = [
        Card(
            title=names[topic],
            subtitle=_subtitle(result, topic, share),
            bars=word_bars(result, topic, vocabulary),
            examples=_examples(result, topic, documents),
        )
        for topic in range(result.n_components)
    ]
    summary = (
        f"{result.n_components} topics in {len(result.weights):,} documents over "
        f"{result.components.shape[1]:,} words."
    )
    leading = [f"{name}: {cards[i].bars[0].label}" for i, name in enumerate(names)]
    elements: list[Element] = [
        Paragraph(summary),
        Cards(
            "Topics",
            cards,
            "The words with the largest probability in each topic. A star marks the topic's "
            "anchor word: a word that, by the model, occurs in this topic only. Examples are the "
            "documents with the largest share of the topic.",
        ),
        Chart(
            "How much of the collection is about each topic",
            figures.bars(leading, share, "share of all documents"),
            height=110 + 24 * result.n_components,
        ),
    ]
    if result.n_components > 1:
        elements.append(
            Chart(
                "How alike the topics are",
                figures.heat_map(
                    cosines(result.components),
                    leading,
                    [str(i + 1) for i in range(result.n_components)],
                    value_label="cosine",
                    square=True,
                    largest=1.0,
                ),
                "Cosine between the word distributions: 0 for no common words, 1 for the same.",
                height=460,
                narrow=True,
            )
        )
    return elements + scores(result)


def shares(weights: NDArray[Any]) -> NDArray[Any]:
    """How much of all weight each component carries; sums to 1."""
    totals = np.maximum(weights, 0).sum(axis=0, dtype=np.float64)
    return totals / max(totals.sum(), np.finfo(float).tiny)


def cosines(rows: NDArray[Any]) -> NDArray[Any]:
    """Cosine between every two rows; a zero row has cosine 0 with all."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(length > 0, length, 1.0)
    return np.clip(unit @ unit.T, -1.0, 1.0)


def word_bars(result: Factorization, topic: int, vocabulary: list[str]) -> list[Bar]:
    """The largest entries of one component; the anchor is shown even if it is not among them."""
    values = result.components[topic]
    order = np.argsort(-values, kind="stable")[:WORDS]
    anchor = _anchor(result, topic)
    if anchor is not None and anchor not in order:
        order = np.append(order, anchor)
    largest = max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    return [
        Bar(
            vocabulary[word],
            f"{values[word]:.3g}",
            float(np.clip(values[word] / largest, 0, 1)),
            marked=word == anchor,
        )
        for word in order
    ]


def _anchor(result: Factorization, topic: int) -> int | None:
    """The topic's anchor word; an anchor of the rows of a plain fit is no word and is left out."""
    if result.anchors is None or len(result.anchors) != result.n_components:
        return None
    anchor = int(result.anchors[topic])
    return anchor if 0 <= anchor < result.components.shape[1] else None


def _subtitle(result: Factorization, topic: int, share: NDArray[Any]) -> str:
    text = f"{share[topic]:.1%} of the collection"
    coherence = result.extras.get("coherence")
    if coherence is not None and np.ndim(coherence) == 1:
        text += f", coherence {float(coherence[topic]):.4g}"
    return text


def _examples(result: Factorization, topic: int, documents: list[str]) -> list[Example]:
    weights = result.weights[:, topic]
    excerpts = result.extras.get("document_excerpts")
    total = np.maximum(result.weights.sum(axis=1), np.finfo(float).tiny)
    purest = np.argsort(-weights / total, kind="stable")[: 20 * EXAMPLES]
    best = sorted((i for i in purest if weights[i] > 0), key=lambda i: -weights[i])[:EXAMPLES]
    return [
        Example(
            documents[i],
            "" if excerpts is None else figures.shortened(excerpts[i], EXCERPT),
            f"{weights[i] / total[i]:.0%}",
        )
        for i in best
    ]
