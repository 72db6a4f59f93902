"""Count the words of texts in chunks, in several processes, within the memory of the counts.

A chunk of documents is counted over its own words, which then enter one vocabulary. When all texts
have been read, rare and frequent words are left out and the others sorted. Only counts are kept
meanwhile, mostly a byte each, never the texts.
"""

from __future__ import annotations

import re
import signal
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.languages import (
    UNSPACED,
    language_of,
    signs_of,
    stop_words_of,
    text_notices,
    without_contractions,
)
from provenmf.arguments import checked
from provenmf.errors import InvalidInput
from provenmf.io.mail import body_of
from provenmf.io.rows import write_sparse_rows
from provenmf.io.texts import (
    Corpus,
    Counts,
    TextFile,
    no_text,
)

# Words of letters, digits allowed after the first letter; single letters say little.
WORD = re.compile(r"(?u)\b[^\W\d_][\w'-]*\w\b")
Tokenizer: TypeAlias = Callable[[str], Iterable[str]]
LONGEST_WORD = 100  # characters; what is longer is an attachment, and would widen every word

CHUNK_CHARACTERS = 2**21
FEWEST_CHUNKS = 4  # processes take a second to start


@dataclass(frozen=True)
class Splitting:
    """How texts become words.

    vocabulary : count these words only, in this order.
    whole : keep contractions, for a vocabulary that has some.
    mail : count what the author of a mail wrote.
    ngram_range : least and largest number of words that make a term.
    tokenizer : makes the words of a text instead.
    """

    stop_words: frozenset[str] = frozenset()
    vocabulary: tuple[str, ...] | None = None
    whole: bool = False
    mail: bool = False
    ngram_range: tuple[int, int] = (1, 1)
    tokenizer: Tokenizer | None = None

    def words(self, text: str) -> list[str]:
        """Return the terms of a text in lower case, without stop words."""
        if self.mail:
            text = body_of(text)
        if self.tokenizer is not None:
            found = [str(word) for word in self.tokenizer(text)]
        else:
            found = WORD.findall(text.lower() if self.whole else without_contractions(text))
            if UNSPACED.search(text):
                found = [part for word in found for part in in_pairs(word)]
        if self.stop_words:
            found = [word for word in found if word not in self.stop_words]
        least, most = self.ngram_range
        if most == 1:
            return found
        return [
            " ".join(found[start : start + n])
            for n in range(least, most + 1)
            for start in range(len(found) - n + 1)
        ]


def in_pairs(word: str) -> list[str]:
    """Return a word, with runs of a script without spaces as overlapping pairs of characters."""
    parts = []
    for run in re.split(f"({UNSPACED.pattern})", word):
        if UNSPACED.match(run):
            parts += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
        elif len(run) > 1:
            parts.append(run)
    return parts


@dataclass(frozen=True, eq=False)
class Chunk:
    """Counts of some documents over words of their own.

    words : by number. pointers, numbers, counts : of a sparse matrix. signs : how many texts have
    each of `signs_of`. keys : hashes of the texts.
    """

    words: list[str]
    pointers: NDArray[np.int64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.unsignedinteger[Any]]
    signs: Counter[str]
    keys: list[bytes]


def count_chunk(splitting: Splitting, texts: Sequence[str]) -> Chunk:
    """Count the words of a few thousand texts."""
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    known = None if splitting.vocabulary is None else frozenset(splitting.vocabulary)
    tokens: list[int] = []
    lengths = []
    for text in texts:
        words = splitting.words(text)
        if known is not None:
            words = [word for word in words if word in known]
        tokens.extend(map(number_of.__getitem__, words))
        lengths.append(len(words))
    width = max(len(number_of), 1)
    keys = np.repeat(np.arange(len(texts), dtype=np.int64) * width, lengths) + np.array(
        tokens, dtype=np.int64
    )
    keys, counts = np.unique(keys, return_counts=True)
    ends = np.searchsorted(keys, np.arange(len(texts) + 1, dtype=np.int64) * width)
    return Chunk(
        list(number_of),
        ends,
        (keys % width).astype(np.int32),
        counts.astype(np.min_scalar_type(int(counts.max(initial=0)))),
        Counter(sign for text in texts for sign in signs_of(text)),
        [blake2b(text.encode(errors="replace"), digest_size=8).digest() for text in texts],
    )


@dataclass(eq=False)
class WordCounter:
    """Chunks of counts over one growing vocabulary; add all texts, then ask for the counts."""

    splitting: Splitting
    n_texts: int = 0
    signs: Counter[str] = field(default_factory=Counter)
    _keys: set[bytes] = field(default_factory=set)
    _number_of: dict[str, int] = field(default_factory=dict)
    _chunks: deque[Chunk] = field(default_factory=deque)
    _documents: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _occurrences: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(
        self,
        texts: Iterable[str],
        n_jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Count texts, in so many processes if there are many of them.

        progress : called with the number of texts counted so far.
        """
        for chunk in in_processes(partial(count_chunk, self.splitting), batches(texts), n_jobs):
            self._take(chunk)
            if progress is not None:
                progress(self.n_texts)

    def _take(self, chunk: Chunk) -> None:
        places = self._places(chunk.words)
        size = len(self._number_of)
        for name, weights in (("_documents", None), ("_occurrences", chunk.counts)):
            sums = np.bincount(chunk.numbers, weights, len(places)).astype(np.int64)
            total = np.zeros(max(size, len(getattr(self, name))), dtype=np.int64)
            total[: len(getattr(self, name))] = getattr(self, name)
            total[places] += sums
            setattr(self, name, total)
        numbers = places[chunk.numbers].astype(np.int32)
        self._chunks.append(replace(chunk, words=[], keys=[], numbers=numbers))
        self.n_texts += len(chunk.pointers) - 1
        self.signs += chunk.signs
        before = len(self._keys)
        self._keys.update(chunk.keys)
        self.signs["copy"] += len(chunk.keys) - (len(self._keys) - before)

    def _places(self, words: list[str]) -> NDArray[np.intp]:
        """Numbers of words in the common vocabulary, which takes in those that are new."""
        number_of = self._number_of
        return np.array([number_of.setdefault(w, len(number_of)) for w in words], dtype=np.intp)

    def vocabulary(self, least: float, most: float, max_words: int | None) -> list[str]:
        """Words in so many documents, sorted; of more than `max_words` the most frequent ones."""
        if self.splitting.vocabulary is not None:
            return list(self.splitting.vocabulary)
        kept = (self._documents >= least) & (self._documents <= most)
        words = sorted(w for w, n in self._number_of.items() if kept[n] and len(w) <= LONGEST_WORD)
        if max_words is None or len(words) <= max_words:
            return words
        frequency = self._occurrences[[self._number_of[word] for word in words]]
        return sorted(words[place] for place in np.argsort(-frequency)[:max_words])

    def rows(self, vocabulary: Sequence[str]) -> Iterator[sp.csr_array]:
        """Counts of these words, a chunk at a time; a chunk that was given is forgotten."""
        place = np.full(max(len(self._number_of), 1), -1, dtype=np.int32)
        for column, word in enumerate(vocabulary):
            if word in self._number_of:
                place[self._number_of[word]] = column
        while self._chunks:
            chunk = self._chunks.popleft()
            columns = place[chunk.numbers]
            kept = columns >= 0
            ends = np.concatenate([[0], np.cumsum(kept)])[chunk.pointers]
            shape = (len(ends) - 1, len(vocabulary))
            rows = sp.csr_array((chunk.counts[kept], columns[kept], ends), shape=shape)
            rows.sort_indices()
            yield rows

    def matrix(self, vocabulary: Sequence[str]) -> sp.csr_array:
        """All counts of these words (texts, words) in double precision."""
        stored = int(sum(self._documents[self._number_of[w]] for w in self._met(vocabulary)))
        indices, data = np.empty(stored, dtype=np.int32), np.empty(stored)
        lengths, filled = [np.zeros(1, dtype=np.int64)], 0
        for rows in self.rows(vocabulary):
            indices[filled : filled + rows.nnz] = rows.indices
            data[filled : filled + rows.nnz] = rows.data
            lengths.append(np.diff(rows.indptr))
            filled += rows.nnz
        pointers = np.cumsum(np.concatenate(lengths))
        shape = (self.n_texts, len(vocabulary))
        return sp.csr_array((data[:filled], indices[:filled], pointers), shape=shape)

    def _met(self, vocabulary: Sequence[str]) -> list[str]:
        return [word for word in vocabulary if word in self._number_of]


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in lists of about two million characters."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text) + 1
        if size >= CHUNK_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def in_processes(
    function: Callable[[list[str]], Chunk], work: Iterator[list[str]], n_jobs: int
) -> Iterator[Chunk]:
    """Results in order; processes are started only if there is enough for them to do.

    No more batches are read than the processes can soon begin with.
    """
    first = list(islice(work, FEWEST_CHUNKS))
    pool = None if n_jobs == 1 or len(first) < FEWEST_CHUNKS else _processes(n_jobs)
    if pool is None:
        yield from map(function, first)
        yield from map(function, work)
        return
    with pool:
        with _interrupts_ignored():  # processes inherit it, from their first line on
            waiting = deque(pool.submit(function, batch) for batch in first)
        try:
            while waiting:
                for batch in islice(work, max(0, 2 * n_jobs - len(waiting) + 1)):
                    waiting.append(pool.submit(function, batch))
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise InvalidInput(
                "a process that counted words was killed, most likely because memory ran out",
                argument="n_jobs",
                remedy="use {argument=1}",
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _processes(n_jobs: int) -> ProcessPoolExecutor | None:
    """So many processes; None where there is no shared memory for their locks (/dev/shm)."""
    try:
        return ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"))
    except (OSError, NotImplementedError):
        return None


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal, but is for this one; only its main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@checked()
def count_words(
    corpus: Corpus | TextFile | Iterable[str],
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    stop_words: str | Sequence[str] | None = "auto",
    max_words: int | None = None,
    ngram_range: tuple[int, int] = (1, 1),
    tokenizer: Tokenizer | None = None,
    vocabulary: Sequence[str] | None = None,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Count the words of each document.

    Parameters
    ----------
    corpus : Corpus, TextFile or iterable of str
        From `read_texts`, or texts; a `TextFile` is read as it is counted, so that its texts need
        not fit into memory.
    min_documents : int, default 2
        Leave out words in fewer documents.
    max_share : float, default 0.5
        Leave out words in a larger share of the documents.
    stop_words : str, list of str or None, default "auto"
        "auto" finds the language (English where it is not clear); "english", "german", "french",
        "spanish", "italian", "portuguese", "dutch", "swedish", "polish", "russian"; or the words.
    max_words : int, optional
        Keep only the most frequent words.
    ngram_range : tuple of two int, default (1, 1)
        Least and largest number of consecutive words that are counted as a term.
    tokenizer : callable, optional
        Returns the words of a text, e.g. jieba.lcut for Chinese. By default words are runs of
        letters in lower case, or pairs of characters in scripts without spaces.
    vocabulary : sequence of str or dict, optional
        Count these words, in this order, and ignore the options above but the tokenizer. A dict,
        as scikit-learn's `vocabulary_`, has their columns.
    n_jobs : int, default 1
        Processes that count. A script that asks for more than one must protect its entry point
        by ``if __name__ == "__main__"``, as Python's multiprocessing requires.
    progress : callable, optional
        Called with the number of documents counted so far.

    Returns
    -------
    Counts

    Examples
    --------
    >>> from provenmf.applications import count_words
    >>> counts = count_words(["ship and sail", "sail the ship", "bread"], max_share=1.0)
    >>> counts.vocabulary.tolist(), counts.matrix.toarray().tolist()
    (['sail', 'ship'], [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    """
    if not isinstance(corpus, Corpus | TextFile):
        corpus = checked_texts(corpus)
    language = stop_words
    if vocabulary is None:
        language, said = chosen_language(corpus, stop_words)
    else:
        said = ()
    splitting = splitting_of(language, vocabulary, corpus, ngram_range, tokenizer)
    counter = WordCounter(splitting)
    texts, names, notes = texts_of(corpus)
    counter.add(texts, n_jobs, progress)
    words = chosen_words(counter, corpus, min_documents, max_share, max_words)
    matrix = counter.matrix(words)
    known = np.array(words, dtype=np.str_)
    if splitting.mail:  # what was written is counted, without header and attachments
        counter.signs -= Counter(mail=counter.signs["mail"], attachment=counter.signs["attachment"])
    notices = text_notices(counter.signs, matrix, known)
    kept = corpus.texts if isinstance(corpus, Corpus) else corpus
    return Counts(matrix, known, kept, names, (*notes, *said, *notices))


def write_counts(
    corpus: Corpus | TextFile | Sequence[str],
    target: Path,
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    stop_words: str | Sequence[str] | None = "auto",
    max_words: int | None = None,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Count words as `count_words` does and write the counts as rows on disk; see `convert`."""
    language, _ = chosen_language(corpus, stop_words)
    counter = WordCounter(splitting_of(language, None, corpus))
    texts, names, _ = texts_of(corpus)
    counter.add(texts, n_jobs, progress)
    words = chosen_words(counter, corpus, min_documents, max_share, max_words)
    blocks = (block.astype(np.int32) for block in counter.rows(words))
    return write_sparse_rows(target, blocks, len(words), {"rows": list(names), "columns": words})


def checked_texts(texts: Iterable[Any]) -> list[str]:
    """Return texts as a list, or say which of them is not a text."""
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            missing = text is None or text != text
            raise InvalidInput(
                f"documents[{number}] is {'missing' if missing else type(text).__name__}, not a "
                f"text ({text!r}): "
                + ("leave missing texts out, or put '' in their place" if missing else "give str")
            )
    return found


def chosen_language(
    corpus: Corpus | TextFile | Sequence[str], stop_words: str | Sequence[str] | None
) -> tuple[str | Sequence[str] | None, tuple[str, ...]]:
    """Return whose stop words to leave out, and what should be said about it.

    The language is that of the first 300 texts.
    """
    if stop_words is not None and not isinstance(stop_words, str):
        return stop_words, ()
    found = language_of(islice(texts_of(corpus)[0], 300))
    if stop_words == "auto":
        if found in (None, "english"):
            return "english", ()
        return found, (f"the texts look {found}: {found} stop words were left out",)
    if stop_words is not None and found is not None and found != stop_words:
        return stop_words, (
            f"the texts look {found}, but {stop_words} stop words were left out: use "
            f"stop_words={found!r} (--stop-words {found})",
        )
    return stop_words, ()


def chosen_words(
    counter: WordCounter,
    corpus: object,
    min_documents: int,
    max_share: float,
    max_words: int | None,
) -> list[str]:
    """Return the words that are left when rare and frequent ones are taken out."""
    n_texts = counter.n_texts
    if isinstance(corpus, TextFile) and counter.signs["blank"] == n_texts:
        raise no_text(corpus.path)
    if n_texts < 2:
        raise InvalidInput(
            f"the corpus has {n_texts} document: topics need at least two, "
            "for example one per line or one per file"
        )
    if not 0 <= max_share <= 1:
        raise InvalidInput(
            "is not a share", argument="max_share", value=max_share, remedy="use 0 to 1"
        )
    least = min(min_documents, n_texts)
    words = counter.vocabulary(least, max(max_share * n_texts, least), max_words)
    if words:
        return words
    if counter.vocabulary(least, n_texts, 1):
        raise InvalidInput(
            f"every word of {n_texts} documents is in more than {max_share:.0%} of them, or in "
            f"fewer than {min_documents} of them",
            argument="max_share",
            value=max_share,
            remedy="raise it to {argument=1.0}",
        )
    if counter.vocabulary(1, n_texts, 1):
        raise InvalidInput(
            f"no word occurs in {min_documents} of {n_texts} documents",
            argument="min_documents",
            value=min_documents,
            remedy="lower it to {argument=1}, or use more or longer texts",
        )
    raise InvalidInput(f"no word is left of {n_texts} documents but stop words: use other texts")


def texts_of(
    corpus: Corpus | TextFile | Sequence[str],
) -> tuple[Iterable[str], list[str] | Sequence[str], list[str] | tuple[str, ...]]:
    """Return texts, and the lists to which a file adds names and notes as it is read."""
    if isinstance(corpus, TextFile):
        names: list[str] = []
        notes: list[str] = []
        return corpus.texts(names, notes), names, notes
    if isinstance(corpus, Corpus):
        return corpus.texts, corpus.names, corpus.notes
    return corpus, [f"document {n}" for n in range(1, len(corpus) + 1)], ()


def splitting_of(
    stop_words: str | Sequence[str] | None,
    vocabulary: Sequence[str] | None,
    corpus: object = None,
    ngram_range: tuple[int, int] = (1, 1),
    tokenizer: Tokenizer | None = None,
) -> Splitting:
    """Return how texts are split; a vocabulary decides about contractions and n-grams itself."""
    mail = isinstance(corpus, TextFile) and corpus.mail
    if vocabulary is None:
        least, most = (int(n) for n in ngram_range)
        if not 1 <= least <= most:
            raise InvalidInput(
                "is not a least and a largest number of words",
                argument="ngram_range",
                value=ngram_range,
                remedy="use (1, 2) for words and pairs of words",
            )
        chosen = frozenset(stop_words_of(stop_words) or ())
        return Splitting(chosen, mail=mail, ngram_range=(least, most), tokenizer=tokenizer)
    words = tuple(in_order(vocabulary))
    if len(set(words)) < len(words):
        twice = next(word for word in words if words.count(word) > 1)
        raise InvalidInput(f"vocabulary has {twice!r} twice: give every word once")
    whole = any(without_contractions(word) != word.lower() for word in words)
    lengths = [word.count(" ") + 1 for word in words] if tokenizer is None else [1]
    sizes = (min(lengths, default=1), max(lengths, default=1))
    return Splitting(
        vocabulary=words, whole=whole, mail=mail, ngram_range=sizes, tokenizer=tokenizer
    )


def in_order(vocabulary: Sequence[str] | Mapping[str, int]) -> list[str]:
    """Return the words by column; a dict has a column for each word."""
    if isinstance(vocabulary, Mapping):
        columns = sorted(vocabulary.values())
        if columns != list(range(len(columns))):
            raise InvalidInput("vocabulary is a dict whose values are not the columns 0, 1, …")
        return sorted(map(str, vocabulary), key=lambda word: vocabulary[word])
    return [str(word) for word in vocabulary]
