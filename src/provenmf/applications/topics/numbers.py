"""Compare numbers of topics by held-out words and by coherence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import word_spectrum
from provenmf.applications.topics.corpus import as_word_counts, usable_words
from provenmf.applications.topics.groups import stepped, topics_of_groups
from provenmf.applications.topics.inference import completed, infer_documents, topics_of
from provenmf.errors import InvalidInput
from provenmf.metrics.topics import npmi_coherence, relevance, top_words

NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
CLOSE = 0.05  # of NPMI; smaller differences change with the documents
GAINED = 1 / 3  # of the largest gain over one topic
FEWEST_DOCUMENTS = 100


@dataclass(frozen=True, eq=False)
class TopicNumbers:
    """Evidence for several numbers of topics of a corpus.

    Attributes
    ----------
    numbers : tuple of int
        The numbers that were tried.
    held_out : array (numbers,)
        Mean log probability of held-out words, given the other words of their documents, above
        that of a single topic.
    errors : array (numbers,)
        Standard errors of what the best number has more.
    coherence : array (numbers,)
        NPMI of ten words a topic, weighted by the topics' size.
    best : int
        The smallest number that is nearly as coherent as any.
    """

    numbers: tuple[int, ...]
    held_out: NDArray[np.float64]
    errors: NDArray[np.float64]
    coherence: NDArray[np.float64]
    best: int

    def text(self) -> str:
        """Return a table and its interpretation as text."""
        lines = ["topics  held-out words  coherence"]
        for k, gain, error, npmi in zip(
            self.numbers, self.held_out, self.errors, self.coherence, strict=True
        ):
            mark = "  <-" if k == self.best else ""
            lines.append(f"{k:6}  {gain:6.3f} ± {error:5.3f}  {npmi:9.3f}{mark}")
        return "\n".join(
            [
                *lines,
                "",
                f"{self.best} topics: the smallest number whose topics are nearly as coherent as "
                "any.",
                "Held-out words: how much likelier they are than with one topic (nats a word).",
                "Texts have topics within topics: a finer division may be as true.",
            ]
        )

    __str__ = text

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "best": self.best,
            "numbers": list(self.numbers),
            "held_out": self.held_out.tolist(),
            "standard_errors": self.errors.tolist(),
            "coherence": self.coherence.tolist(),
        }


def topic_numbers(
    documents: Any,
    numbers: Sequence[int] | None = None,
    *,
    vocabulary: Any = None,
    progress: Callable[[int, int], None] | None = None,
    **text_options: Any,
) -> TopicNumbers:
    """Compare numbers of topics by held-out words and coherence.

    Parameters
    ----------
    documents : texts, Corpus, Counts or matrix of counts
        As in `find_topics`.
    numbers : sequence of int, optional
        The numbers to try; by default 2 to 40, as far as there are ten documents for each topic.
    vocabulary, text_options
        As in `count_words`.
    progress : callable, optional
        Called with how many numbers are done, and of how many.

    Returns
    -------
    TopicNumbers

    Examples
    --------
    >>> from provenmf.applications.topics.numbers import topic_numbers
    >>> from provenmf.datasets.corpora import topic_corpus
    >>> corpus = topic_corpus(1000, 300, 4, word_concentration=0.05, random_state=0)
    >>> topic_numbers(corpus.counts, [2, 3, 4, 6, 8]).best
    4
    """
    counts = usable_words(as_word_counts(documents, vocabulary, **text_options))[0]
    n_documents, n_words = counts.shape
    if n_documents < FEWEST_DOCUMENTS:
        raise InvalidInput(
            f"{n_documents} documents are too few to compare numbers of topics: give the number, "
            f"or at least {FEWEST_DOCUMENTS} documents"
        )
    most = min(n_documents // 10, n_words // 4)
    tried = [n for n in NUMBERS if n <= most] if numbers is None else sorted(set(numbers))
    if not tried or tried[0] < 2 or tried[-1] > n_documents:
        raise InvalidInput(
            "must be at least 2 and at most the number of documents",
            argument="numbers",
            value=numbers,
        )
    order = np.random.default_rng(3).permutation(n_documents)
    judges = np.sort(order[: min(max(n_documents // 10, 30), 2000)])
    held_out, frequencies = counts.take(judges), counts.frequencies
    wide = word_spectrum(counts, tried[-1])
    likelihoods, coherence = [], []
    for done, k in enumerate(tried):
        if progress is not None:
            progress(done, len(tried))
        width = min(4 * k, k + 60, wide.vectors.shape[1])
        shares = stepped(wide.pairs.counts, topics_of_groups(wide.leading(width), k), judges)
        topics = topics_of(shares, frequencies)
        likelihoods.append(_gains(held_out, topics))
        sizes = infer_documents(held_out, topics, np.full(k, 1.0 / k)).sum(axis=0)
        words = top_words(relevance(topics, frequencies), 10)
        coherence.append(float(sizes @ npmi_coherence(words, counts.blocks) / sizes.sum()))
    gains = np.array([own.mean() for own in likelihoods])
    best = int(gains.argmax())
    errors = np.array(
        [(likelihoods[best] - own).std() / np.sqrt(len(judges)) for own in likelihoods]
    )
    scores = np.where(gains >= GAINED * gains[best], coherence, -np.inf)
    chosen = tried[int(np.argmax(scores >= scores.max() - CLOSE))]
    return TopicNumbers(tuple(tried), gains, errors, np.array(coherence), chosen)


def _gains(held_out: Any, topics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each document's gain in log-likelihood over the mean topic."""
    words = completed(held_out, topics, np.full(len(topics), 0.5 / len(topics)))
    tiny = np.finfo(float).tiny
    mixed = np.maximum(0.9 * words.own + 0.1 * words.common, tiny)
    gains = words.counts * (np.log(mixed) - np.log(np.maximum(words.common, tiny)))
    n_documents = held_out.shape[0]
    sums = np.bincount(words.documents, gains, minlength=n_documents)
    lengths = np.bincount(words.documents, words.counts, minlength=n_documents)
    return np.asarray(sums / np.maximum(lengths, 1.0))
