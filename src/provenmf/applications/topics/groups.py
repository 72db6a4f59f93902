"""Topics from groups of documents, where the model of topics does not hold.

Anchor words are extreme points. In raw texts the most extreme words belong to signatures, tables,
quoted headers and families of near-duplicates, so that k anchors cover a few odd corners and one
topic is left with everything else. Groups of documents do not have this weakness once repeated
texts are set aside: words whose company is always the same few documents, and near copies.

A document is a row of unit length by two weightings of its words: its counts times D U in the
notation of `cooccurrence`, and its leading singular coordinates by tf-idf. Neither is better on all
texts, k coordinates may miss a subject, and many hold noise. So k-means (spherical, Dhillon & Modha
2001) groups documents in several numbers of coordinates between k and 4k of each, into k and into
4k groups. Two groupings into k sum these up: k-means on the indicators of the coarse groups
(cluster ensembles, Strehl & Ghosh 2002), which makes groups of similar size, and average linkage on
the share of the fine groups that two documents have in common (Fred & Jain 2005), which keeps a
large subject together beside small ones. The one whose groups are better separated (mean
silhouette, Rousseeuw 1987) and agree better with the ensemble (mean normalized mutual information,
the objective of Strehl & Ghosh) is taken: by separation alone, a few near-duplicates against
everything else win. Linkage must be well enough separated to show any structure.

Topics are the words of the groups after a few steps of expectation and maximization, which also
allow a document several topics.

`topic_numbers` compares numbers of such topics by held-out words and by coherence.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.cooccurrence import (
    ACCURACY,
    EXTRA,
    WordSpectrum,
    leading_eigenpairs_of,
    word_spectrum,
)
from provenmf.applications.topics.corpus import (
    Sample,
    WordCounts,
    as_word_counts,
    unit_documents,
    usable_words,
    whole_matrix,
)
from provenmf.applications.topics.inference import (
    UNSEEN,
    completed,
    infer_documents,
    refined_shares,
    topics_of,
)
from provenmf.errors import InvalidInput
from provenmf.metrics.topics import npmi_coherence, relevance, top_words

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Settings:
    """Choices of the grouping, made on the corpora BUILD of benchmarks/peers/raw_texts.py.

    coordinates : how many of the coordinates beyond k each grouping uses, as shares.
    finer : groups of a fine grouping, for each topic; with 2, large subjects of TDT2 are divided.
    starts : random starts of k-means on the indicators; all others have one.
    rounds : of k-means, at most; few documents move after ten.
    structure : mean silhouette below which groups have no substantial structure (Kaufman &
        Rousseeuw 1990, p. 88): then one large group beside small ones says little, and groups of
        similar size are taken.
    """

    coordinates: tuple[float, ...] = (0.0, 1 / 6, 1 / 3, 2 / 3, 1.0)
    finer: int = 4
    starts: int = 10
    rounds: int = 30
    structure: float = 0.25


SETTINGS = Settings()


def topics_of_groups(spectrum: WordSpectrum, k: int, sample: Sample) -> Floats:
    """Return topics (k, n_words) from k groups of documents: the words of each group.

    Parameters
    ----------
    spectrum : WordSpectrum
        More coordinates than k (see `word_spectrum`).
    k : int
        Number of groups.
    sample : Sample
        The documents to group.
    """
    counts, rng = spectrum.pairs.counts, np.random.default_rng(6)
    own = sample.of(counts)
    rows = np.asarray(own @ (spectrum.pairs.scales[:, None] * spectrum.vectors))
    vectors, values = leading_singular(unit_documents(WordCounts(own)).everything(), rows.shape[1])
    members = np.eye(k)[group([rows.astype(np.float32), vectors * values], k, rng)]
    sums = np.asarray((counts.take(sample.documents).T @ members).T) + UNSEEN
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def leading_singular(rows: sp.csr_array, width: int) -> tuple[Singles, Singles]:
    """Return the leading left singular vectors (n, width) of rows, and the singular values."""
    width, most = min(width, *rows.shape), min(width + EXTRA, *rows.shape)
    start = np.random.default_rng(0).standard_normal((rows.shape[0], most)).astype(np.float32)
    rows = rows.astype(np.float32)
    found = leading_eigenpairs_of(lambda right: rows @ (rows.T @ right), start, width, tol=ACCURACY)
    values = np.sqrt(np.maximum(found.values[:width], 0.0))
    return found.vectors[:width].T.astype(np.float32), values.astype(np.float32)


def group(views: Sequence[Singles], k: int, rng: np.random.Generator) -> Labels:
    """Return the group (n,) of each row of the views (n, coordinates); see the module."""
    parts = [
        unit_rows(rows[:, :width])
        for rows in views
        for width in sorted({k + round(s * (rows.shape[1] - k)) for s in SETTINGS.coordinates})
    ]
    coarse = [k_means(part, k, 1, rng) for part in parts]
    fine = [k_means(part, SETTINGS.finer * k, 1, rng) for part in parts]
    found = [
        k_means(indicators(coarse).toarray(), k, SETTINGS.starts, rng),
        linked(fine, k),
    ]
    whole = [unit_rows(rows) for rows in views]
    apart = [float(np.mean([silhouette(rows, labels) for rows in whole])) for labels in found]
    if apart[1] < SETTINGS.structure:
        return found[0]
    agreeing = [np.mean([mutual_information(own, o) for o in coarse + fine]) for own in found]
    return found[int(np.argmax(np.multiply(apart, agreeing)))]


def indicators(groupings: Sequence[Labels]) -> sp.csr_array:
    """Return which groups each row belongs to (n, groups of all groupings), as zeros and ones."""
    sizes = np.array([int(labels.max()) + 1 for labels in groupings])
    columns = np.column_stack(groupings) + (np.cumsum(sizes) - sizes)
    n, m = columns.shape
    ones = np.ones(n * m, dtype=np.float32)
    return sp.csr_array((ones, columns.ravel(), np.arange(0, n * m + 1, m)), (n, int(sizes.sum())))


def linked(groupings: Sequence[Labels], k: int) -> Labels:
    """Return k groups by average linkage on the share of groupings that separate two rows."""
    from scipy.cluster.hierarchy import average
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import squareform

    members = indicators(groupings)
    apart = 1.0 - (members @ members.T).toarray() / len(groupings)
    n = len(apart)
    merges = average(squareform(apart, checks=False))[: n - k, :2].astype(np.intp)
    joined = np.repeat(np.arange(n, n + len(merges)), 2)
    size = n + len(merges)
    tree = sp.coo_array((np.ones(joined.size), (joined, merges.ravel())), shape=(size, size))
    return np.asarray(connected_components(tree, directed=False)[1][:n], dtype=np.intp)


def silhouette(rows: Singles, labels: Labels) -> float:
    """Return the mean silhouette of groups of unit rows, by cosine distance."""
    sizes = np.bincount(labels)
    sums = np.eye(len(sizes), dtype=np.float32)[labels].T @ rows
    own = np.arange(len(rows)), labels
    products = rows @ sums.T
    products[own] -= np.einsum("ij,ij->i", rows, rows)
    others = np.broadcast_to(sizes, products.shape).copy()
    others[own] -= 1
    distances = 1.0 - products / np.maximum(others, 1)
    within = distances[own]
    distances[own] = np.inf
    nearest = distances.min(axis=1)
    scores = (nearest - within) / np.maximum(np.maximum(nearest, within), 1e-12)
    return float(np.where(sizes[labels] > 1, scores, 0.0).mean())


def mutual_information(first: Labels, second: Labels) -> float:
    """Return the mutual information of two groupings over the mean of their entropies."""
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1.0 / len(first))

    def entropy(shares: Floats) -> float:
        positive = shares[shares > 0]
        return float(-(positive * np.log(positive)).sum())

    alone = entropy(table.sum(axis=0)) + entropy(table.sum(axis=1))
    return 2.0 * (alone - entropy(table)) / alone if alone > 0 else 0.0


def k_means(rows: Singles, k: int, starts: int, rng: np.random.Generator) -> Labels:
    """Return the groups of the best of some random starts (Arthur & Vassilvitskii 2007)."""
    from scipy.cluster.vq import kmeans2

    runs = []
    k, most = min(k, len(rows)), SETTINGS.rounds
    for _ in range(starts):
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of empty groups: equal rows
            start = distant_rows(rows, k, rng)
            centres, labels = kmeans2(rows, start, most, minit="matrix", check_finite=False)
        runs.append((float(((rows - centres[labels]) ** 2).sum()), labels))
    return np.asarray(min(runs, key=lambda run: run[0])[1], dtype=np.intp)


def distant_rows(rows: Singles, k: int, rng: np.random.Generator) -> Floats:
    """Draw rows with probabilities as their squared distances from those drawn (k-means++).

    The same as scipy's minit="++", which computes all distances again for every row it draws.
    """
    from scipy.spatial.distance import cdist

    chosen = [int(rng.integers(len(rows)))]
    apart = np.full(len(rows), np.inf)
    for _ in range(k - 1):
        last = rows[chosen[-1]].astype(np.float64)
        apart = np.minimum(apart, cdist(last[None], rows, metric="sqeuclidean")[0])
        chosen.append(int(np.searchsorted((apart / apart.sum()).cumsum(), rng.uniform())))
    return rows[chosen].astype(np.float64)


def unit_rows(rows: Singles) -> Singles:
    """Return rows of length one; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.finfo(np.float32).tiny))


# Compare numbers of topics by held-out words and by coherence.

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
        The smallest number that is nearly as coherent as any of those whose gain is at least
        `GAINED` of the largest.
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
                f"{self.best} topics: the smallest number that is nearly as coherent as any that "
                "predicts held-out words well.",
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
    >>> from provenmf.applications.topics.groups import topic_numbers
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
    n_judges = min(max(n_documents // 10, 30), 2000)
    matrix = whole_matrix(counts, "topic_numbers")
    held_out, rest = matrix[np.sort(order[:n_judges])], matrix[np.sort(order[n_judges:])]
    known = WordCounts(rest)
    frequencies = known.frequencies
    wide = word_spectrum(known, tried[-1])
    most_wide = wide.vectors.shape[1]
    likelihoods, coherence = [], []
    for done, k in enumerate(tried):
        if progress is not None:
            progress(done, len(tried))
        width = min(4 * k, k + 60, most_wide)
        groups = topics_of_groups(wide.along(np.eye(most_wide)[:, :width]), k, known.sample)
        shares = refined_shares(wide.pairs.counts, groups)
        topics = topics_of(shares, frequencies)
        likelihoods.append(_gains(held_out, topics))
        sizes = infer_documents(held_out, topics, np.full(k, 1.0 / k)).sum(axis=0)
        words = top_words(relevance(topics, frequencies), 10)
        coherence.append(float(sizes @ npmi_coherence(words, counts.blocks) / sizes.sum()))
    gains = np.array([own.mean() for own in likelihoods])
    best = int(gains.argmax())
    errors = np.array([(likelihoods[best] - own).std() / np.sqrt(n_judges) for own in likelihoods])
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
