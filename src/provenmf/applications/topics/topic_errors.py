"""Standard errors of topics: they are found again in documents drawn with replacement.

A document drawn twice adds its pairs of words twice, so that the co-occurrence stays unbiased. What
is measured is the spread of topics before shares below zero are cut: cut ones would look too well
known. Nothing is said of what all resamples have in common, such as vertices moved by words that
are nearly but not quite exclusive: docs/topics.md has how often the intervals hold the truth.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.given_counts import whole_matrix
from provenmf.applications.topics.ways import WAYS, Found, TopicSettings, from_counts
from provenmf.methods.resampling import error_bars, resampled
from provenmf.results.error_bars import ErrorBars

ASSUMES = (
    "documents are drawn independently from one source, every word by itself from its document's "
    "topics, and the topics found are off by chance alone"
)


def topic_error_bars(
    counts: WordCounts,
    found: Found,
    settings: TopicSettings,
    method: str,
    options: dict[str, Any],
    n_resamples: int,
) -> ErrorBars:
    """Error bars of the topics that `found` has in these counts."""
    settings = replace(settings, n_topics=len(found.topics))
    quiet = {**options, "certify": False, "callback": None, "checkpoint": None}

    find = WAYS[settings.features]
    if find is from_counts:  # the spread is measured before topics are refined
        find = partial(from_counts, refine=False)

    matrix = whole_matrix(counts, "find_topics with n_resamples")

    def refit(drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        again = find(WordCounts(matrix[drawn]), settings, method, quiet)
        return again.topics, again.topics if again.unbounded is None else again.unbounded

    spread = resampled(
        refit,
        found.topics,
        counts.shape[0],
        n_resamples,
        np.random.default_rng(0),
        callback=options.get("callback"),
        verbose=options.get("verbose") or 0,
    )
    return error_bars(found.topics, spread, ASSUMES, unit=_one_occurrence(counts, found))


def _one_occurrence(counts: WordCounts, found: Found) -> NDArray[np.float64]:
    """What one more occurrence of a word adds to its share in a topic (k, 1)."""
    if found.frequency is None or found.prior is None:
        return np.zeros((len(found.topics), 1))
    shares = found.prior / found.prior.sum()
    return np.asarray(1.0 / np.maximum(shares * counts.lengths.sum(), 1.0))[:, None]
