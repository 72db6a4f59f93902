"""The answer of `find_topics`: topics, their anchor words, and the weights of documents.

The Factorization is that of the solver: words (candidates for anchors) in projected coordinates, or
documents × words for methods without anchors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics import edits
from provenmf.applications.topics.corpus import (
    WordCounts,
    counts_of_words,
    unit_documents,
)
from provenmf.applications.topics.inference import topics_of, weights_in
from provenmf.applications.topics.solver import count_problem, topic_spectrum
from provenmf.applications.topics.texts import Tokenizer
from provenmf.budget import computed_once
from provenmf.errors import InvalidInput
from provenmf.io.texts import Counts, TextFile, is_count_matrix, read_counts
from provenmf.linalg.norms import rows_to_sum_one
from provenmf.metrics.topics import coherences, relevance, similarity_count, top_words
from provenmf.results.answers import Answer, ReadOptions, Words, shares, stored_or_numbered
from provenmf.results.states import NOT_SAVED, Shape

if TYPE_CHECKING:
    import pandas

N_TOP_WORDS = 20
N_EXAMPLES = 3
SNIPPET = 400
FAINT = 0.01  # of the weight of a topic's largest word; a word with less is not listed
NEGLIGIBLE = 0.1  # of the weight of a topic's 20th largest word
# The parameter of relevance where the documents with each word are known (see EXPERIMENTS.md).
MIX = 0.1


GROUPS = "groups of documents"


@dataclass(frozen=True)
class TopicSettings:
    """How topics are found: how many, and by `GROUPS` or a method."""

    n_topics: int | None = None
    found_by: str = "spa"


@dataclass(frozen=True, eq=False, repr=False)
class Topics(Answer):
    """Topics of a corpus, their anchor words, and the weights of the documents.

    Words are those that can carry a topic; `word_columns` says where they are in the counts.

    Parameters
    ----------
    factorization, notes, component_names
        As in every `Answer`.
    topics : ndarray of shape (k, words)
        Share of each word in each topic; rows sum to one.
    vocabulary : ndarray of shape (words,)
        The words.
    word_columns : ndarray of shape (words,)
        Their columns in the given counts.
    document_weights : ndarray of shape (documents, k)
        Share of each topic in each document; rows sum to one, or are zero without any word.
    npmi : ndarray of shape (k,)
        Normalized pointwise mutual information of each topic's 20 top words, from −1 to 1.
    cv : ndarray of shape (k,)
        Coherence c_v of the same words, from 0 to 1, with each document as one window (see
        `provenmf.metrics.topics.coherences`).
    anchor_columns : ndarray of shape (k,) or None
        The anchor words' places in the vocabulary; None if the method has no anchor words.
    candidate_words : ndarray of shape (rows,) or None
        The word behind each row of the factorization; likewise.
    document_names : ndarray of shape (documents,) or None
        Names of the documents, where they have names.
    example_documents : ndarray of shape (k, examples) or None
        Documents that show each topic best (weight and length), −1 where there are no more.
    example_texts : ndarray of shape (k, examples) or None
        Their first characters, where texts are known.
    prior : ndarray of shape (k,) or None
        Parameters of the Dirichlet distribution of the documents' weights, if topics come from
        counts.
    word_frequency : ndarray of shape (words,)
        Share of each word among all occurrences.
    word_documents : ndarray of shape (words,)
        In how many documents each word is.
    word_shares : ndarray of shape (k, words) or None
        How far each word is a sign of each topic, from 0 to 1: top words are ranked by it (see
        `pooled_shares`). None if topics do not come from counts.
    settings : TopicSettings
        How the matrix was made.
    document_groups : ndarray of shape (documents,) or None
        A year, an author or the like for each document, see `grouped`.
    grouped_by : str
        What the groups are called.
    corpus : Counts or None
        What the topics were found in, as long as they are in memory; it is not saved.
    tokenizer : callable or None
        That of `find_topics`, likewise.

    See Also
    --------
    find_topics : Makes one from documents.

    Examples
    --------
    >>> from provenmf.applications import find_topics
    >>> sea, kitchen = "ship sail harbour wave", "bread flour oven yeast"
    >>> texts = [sea, kitchen, "sail wave ship", "oven bread yeast", "harbour wave", "flour oven"]
    >>> topics = find_topics(texts, 2)
    >>> topics
    Topics(2 topics of 6 documents, method='spa')
    >>> topics.transform(["a ship on a wave", "bread and yeast"]).argmax(axis=1).tolist() == (
    ...     topics.document_weights[:2].argmax(axis=1).tolist()
    ... )
    True
    """

    kind: ClassVar[str] = "topics"
    words: ClassVar[Words] = Words("Topics", "topic", "document", "word", "top words")

    topics: Annotated[NDArray[np.float64], Shape("k", "words")]
    vocabulary: Annotated[NDArray[np.str_], Shape("words")]
    word_columns: Annotated[NDArray[np.intp], Shape("words")]
    document_weights: Annotated[NDArray[np.float64], Shape("documents", "k")]
    npmi: Annotated[NDArray[np.float64], Shape("k")]
    cv: Annotated[NDArray[np.float64], Shape("k")]
    word_frequency: Annotated[NDArray[np.float64], Shape("words")]
    word_documents: Annotated[NDArray[np.int64], Shape("words")]
    anchor_columns: Annotated[NDArray[np.intp], Shape("k", below="words")] | None = None
    candidate_words: Annotated[NDArray[np.intp], Shape("rows", below="words")] | None = None
    document_names: Annotated[NDArray[np.str_], Shape("documents")] | None = None
    example_documents: Annotated[NDArray[np.intp], Shape("k", "examples")] | None = None
    example_texts: Annotated[NDArray[np.str_], Shape("k", "examples")] | None = None
    prior: Annotated[NDArray[np.float64], Shape("k")] | None = None
    word_shares: Annotated[NDArray[np.float32], Shape("k", "words")] | None = None
    settings: TopicSettings = TopicSettings()
    document_groups: Annotated[NDArray[np.str_], Shape("documents")] | None = None
    grouped_by: str = ""
    corpus: Counts | None = field(default=None, compare=False, metadata=NOT_SAVED)
    tokenizer: Tokenizer | None = field(default=None, compare=False, metadata=NOT_SAVED)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The same as `document_weights`."""
        return self.document_weights

    @property
    def components(self) -> NDArray[np.float64]:
        """The same as `topics`."""
        return self.topics

    @computed_once
    def row_names(self) -> Sequence[str]:
        """Return the names of the documents."""
        return stored_or_numbered(self.document_names, "document", len(self.document_weights))

    @property
    def column_names(self) -> Sequence[str]:
        """The vocabulary."""
        return [str(word) for word in self.vocabulary]

    @property
    def anchor_words(self) -> tuple[str, ...]:
        """The anchor word of each topic; empty if the method has none."""
        if self.anchor_columns is None:
            return ()
        return tuple(str(word) for word in self.vocabulary[self.anchor_columns])

    @computed_once
    def share(self) -> NDArray[np.float64]:
        """Return each topic's share of the collection; shares sum to 1."""
        return shares(self.document_weights)

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """Return the words that say most about each topic; see `top_columns`.

        Words that the topic hardly has are left out, so that a list may be shorter than n_words.
        """
        return [self.vocabulary[row].tolist() for row in self.top_places(n_words)]

    def top_places(self, n_words: int = 10) -> list[NDArray[np.intp]]:
        """Return the vocabulary indices of the words that `top_words` lists."""
        least = FAINT * self.topics.max(axis=1, initial=0.0)
        places = zip(self.topics, self.top_columns(n_words), least)
        return [row[topic[row] > weight] for topic, row, weight in places]

    def top_columns(self, n_words: int = 10) -> NDArray[np.intp]:
        """Return the vocabulary indices of each topic's top words (k, n_words).

        Topics from counts rank words by the relevance of `word_shares` (see
        `provenmf.metrics.topics.relevance`), less two standard errors; other topics by weight.
        """
        return top_columns_of(
            self.topics,
            n_words,
            self.word_frequency,
            self.word_documents,
            self.share,
            self.word_shares,
        )

    def largest(self, n: int = 10) -> list[list[str]]:
        """Return the top words of each topic."""
        return self.top_words(n)

    @property
    def found_by(self) -> str:
        """Source of the topics: groups of documents, or the method."""
        return self.settings.found_by

    def anchor_name(self, component: int) -> str:
        """Return an empty name: anchor words are a detail of the search (see `anchor_words`)."""
        return ""

    def scores(self) -> dict[str, float]:
        """Return coherence, weighted by the size of the topics, and the number of shared words."""
        shared = similarity_count(self.top_places(N_TOP_WORDS))
        scores = {"top words shared between topics (fewer is better)": float(shared)}
        for values, meaning in (
            (self.cv, "coherence c_v, weighted by the topics' size (from 0 to 1)"),
            (self.npmi, "coherence NPMI, weighted by the topics' size (from -1 to 1)"),
        ):
            known = np.isfinite(values)
            if known.any():
                mean = float(np.average(values[known], weights=self.share[known] + 1e-12))
                scores = {meaning: mean, **scores}
        return scores

    def topic_info(self) -> pandas.DataFrame:
        """Return a table with a line for each topic: number, name, size, coherence, words.

        Topics are numbered from 1, the largest first; arrays such as `topics` count from 0.
        """
        k = self.n_components
        main = self.document_weights.argmax(axis=1)[self.document_weights.any(axis=1)]
        named = self.table("components").iloc[:, :0].rename_axis("name").reset_index()
        return named.assign(
            topic=range(1, k + 1),
            share=self.share,
            documents=np.bincount(main, minlength=k),
            npmi=self.npmi,
            words=[", ".join(words) for words in self.top_words()],
        )[["topic", "name", "share", "documents", "npmi", "words"]]

    def __len__(self) -> int:
        """Return the number of topics."""
        return self.n_components

    def __iter__(self) -> Iterator[list[str]]:
        """Iterate over the topics: the top words of each."""
        return iter(self.top_words())

    def __str__(self) -> str:
        lines = [repr(self)]
        for name, share, words in zip(self.component_names, self.share, self.top_words(8)):
            lines.append(f"  {name} ({share:.0%}): {', '.join(words)}")
        return "\n".join(lines)

    def grouped(self, values: Sequence[object], name: str = "group") -> Topics:
        """Return the same topics with a group, such as a year or an author, for each document.

        The report then shows the topics over it, and `group_shares` gives the numbers.

        Examples
        --------
        >>> from provenmf.applications import find_topics
        >>> texts = ["ship sail wave", "bread oven yeast", "sail wave ship", "oven bread yeast"]
        >>> topics = find_topics(texts, 2).grouped([1914, 1914, 1914, 1915], "year")
        >>> groups, shares = topics.group_shares()
        >>> groups, shares.sum(axis=1).round(6).tolist()
        (['1914', '1915'], [1.0, 1.0])
        """
        if len(values) != len(self.document_weights):
            raise InvalidInput(
                f"{len(values)} values for {len(self.document_weights)} documents: give one each"
            )
        groups = np.array([str(value) for value in values], dtype=np.str_)
        return replace(self, document_groups=groups, grouped_by=name)

    def group_shares(self) -> tuple[list[str], NDArray[np.float64]]:
        """Return the sorted group names and the share of each topic in each group (groups, k)."""
        if self.document_groups is None:
            raise InvalidInput("the documents have no groups: give them with grouped(values)")
        names, place = np.unique(self.document_groups, return_inverse=True)
        sums = np.zeros((len(names), self.n_components))
        np.add.at(sums, place, self.document_weights)
        return [str(name) for name in names], rows_to_sum_one(sums)

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Return the tables of every answer, and each topic's share per group of documents."""
        tables = super().tables()
        if self.document_groups is not None:
            import pandas

            names, found = self.group_shares()
            index = pandas.Index(names, name=self.grouped_by)
            columns = list(self.component_names)
            tables["topics_by_group"] = pandas.DataFrame(found, index=index, columns=columns)
        return tables

    merge = edits.merge
    reduced_to = edits.reduced_to

    def factorized(self) -> str:
        """Describe the factorized matrix: words as points, or documents of unit length."""
        rows, columns = len(self.factorization.weights), self.factorization.components.shape[1]
        if self.anchor_columns is None:
            return f"{rows:,} documents of unit length over {columns:,} words"
        return (
            f"{rows:,} words as points in {columns} coordinates, computed from the words that "
            "occur with them"
        )

    def matrix_of(self, data: object) -> Any:
        """Build the factorized matrix from texts or counts: words as points, or unit documents."""
        counts, missing = counts_of_words(data, self.vocabulary, tokenizer=self.tokenizer)
        if missing:
            raise InvalidInput(
                f"{len(missing)} words of the result, such as {missing[0]!r}, are not in the data: "
                "give the corpus and vocabulary that the result was made from"
            )
        if self.anchor_columns is None:
            return unit_documents(counts)
        number = self.settings.n_topics or self.n_components
        return count_problem(counts, topic_spectrum(counts, number), number).points

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read texts, or counts if the path names a count matrix."""
        if is_count_matrix(path, options.vocabulary):
            return read_counts(path, options.vocabulary, key=options.key)
        return TextFile(path, options.field, mail=options.mail)

    def transform(self, data: object) -> NDArray[np.float64]:
        """Return the share of each topic in new documents.

        Parameters
        ----------
        data : texts, counts with their vocabulary, or a matrix of counts
            A matrix without names has the columns of the counts that the topics were found in.
            Words that are not in `vocabulary` are ignored.

        Returns
        -------
        ndarray of shape (documents, k)
            Rows sum to one; a document without any word of the vocabulary has zeros.
        """
        counts, _ = counts_of_words(data, self.vocabulary, self.word_columns, self.tokenizer)
        return weights_in(counts, self.topics, self.prior)


def measured(
    topics: NDArray[np.float64],
    frequency: NDArray[np.float64],
    word_shares: NDArray[np.floating] | None,
    weights: NDArray[np.float64],
    counts: WordCounts,
    texts: Sequence[str] | TextFile | None,
) -> dict[str, Any]:
    """Compute quality measures and example documents of topics, as fields of `Topics`."""
    documents = counts.documents
    best = top_columns_of(topics, N_TOP_WORDS, frequency, documents, shares(weights), word_shares)
    examples = _example_documents(weights, counts.lengths)
    return {
        **coherences(best, counts.blocks),
        "word_documents": documents,
        "word_shares": word_shares,
        "example_documents": examples,
        "example_texts": _example_texts(texts, examples),
    }


def top_columns_of(
    topics: NDArray[np.float64],
    n_words: int,
    frequency: NDArray[np.float64],
    documents: NDArray[np.integer],
    topic_shares: NDArray[np.float64],
    word_shares: NDArray[np.floating] | None,
) -> NDArray[np.intp]:
    """Return the columns of each topic's top words (k, n_words).

    Words are ranked by relevance. A word needs
    a tenth of the weight of the topic's 20th largest word: relevance alone lists words
    that are typical of a topic but hardly occur in it.

    documents, word_shares : see `Topics`; topic_shares : of the whole corpus.
    """
    if word_shares is None:
        joint = topics * topic_shares[:, None]
        by_topic = joint / np.maximum(joint.sum(axis=0), np.finfo(float).tiny)  # p(topic | word)
        probable = topics
    else:
        by_topic = word_shares.astype(np.float64)
        probable = topics_of(by_topic.T, frequency)
    found = relevance(probable, frequency, mix=MIX, documents=by_topic * documents)
    place = max(0, topics.shape[1] - max(n_words, N_TOP_WORDS))
    least = NEGLIGIBLE * np.partition(topics, place, axis=1)[:, place]
    return top_words(np.where(topics >= least[:, None], found, -np.inf), n_words)


def _example_documents(
    weights: NDArray[np.float64], lengths: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Select the most representative documents of each topic, padded with −1.

    Weight times n / (n + median n) for a document of n words: hundreds of short documents have a
    weight of one, and what a few words say is uncertain.
    """
    typical = float(np.median(lengths)) or 1.0
    certain = lengths / (lengths + typical)
    found = np.full((weights.shape[1], min(N_EXAMPLES, len(weights))), -1, dtype=np.intp)
    for examples, weight in zip(found, weights.T):  # a topic at a time: documents may be millions
        score = weight * certain
        least = np.partition(score, -len(examples))[-len(examples)]
        near = np.flatnonzero((score >= least) & (weight > 0))
        best = near[np.argsort(-score[near], kind="stable")][: len(examples)]
        examples[: len(best)] = best
    return found


def _example_texts(
    known: Sequence[str] | TextFile | None, examples: NDArray[np.intp]
) -> NDArray[np.str_] | None:
    """Return the first characters of the example documents, or None if texts are unknown."""
    if known is None:
        return None
    places = examples[examples >= 0].tolist()
    texts = known.at(places) if isinstance(known, TextFile) else {i: known[i] for i in places}
    shown = [[texts.get(i, "")[:SNIPPET] for i in row] for row in examples]
    return np.array(shown, dtype=np.str_)
