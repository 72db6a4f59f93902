"""Count the words of texts in any of ten languages, and notice texts that need preparation.

Texts are counted in chunks, in several processes where there is enough to do. A chunk is counted
over its own words, which then enter one vocabulary. When all texts have been read, rare and
frequent words are left out and the others sorted. Only counts are kept meanwhile, mostly a byte
each, never the texts.
"""

from __future__ import annotations

import re
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.arguments import checked
from provenmf.errors import InvalidInput, counted
from provenmf.io.mail import HEADER_LINE, body_of, has_attachment
from provenmf.io.texts import Corpus, Counts, TextFile, by_column, no_text
from provenmf.signals import handling

# Words of letters, digits allowed after the first letter; single letters say little.
WORD = re.compile(r"(?u)\b[^\W\d_][\w'-]*\w\b")
Tokenizer: TypeAlias = Callable[[str], Iterable[str]]
LONGEST_WORD = 100  # characters; what is longer is an attachment, and would widen every word
CHUNK_CHARACTERS = 2**21
FEWEST_CHUNKS = 4  # processes take a second to start
NAMED = 6  # words that a note lists
SHORT = 10  # median number of counted words below which documents say little about their topics
NOTICED = 0.1  # share of texts, or of words, from which on a notice is given
FEWEST_FUNCTION_WORDS = 0.1  # share of the stop words of a language in its texts; usually .3 to .5
_VOWEL = re.compile(r"[aeiouyàâäáåæãèéêëìíîïòóôöõøùúûüœ]")
_MAIL_FIELDS = re.compile(r"^(from|to|subject|date|newsgroups|message-id):", re.I | re.M)
_NEGATION = re.compile(r"\b\w+n't\b")
_ENDING = re.compile(r"'(?:s|m|re|ve|ll|d)\b")
_ELISION = re.compile(r"\b(?:l|d|j|m|t|s|n|c|qu)'(?=\w\w)")
_LETTERS = re.compile(r"[^\W\d_]+")
# Scripts without spaces between words: kana, Han, Thai, Lao, Khmer, Burmese.
UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_NO_DIGITS = str.maketrans("", "", "0123456789")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")


@cache
def stop_word_lists() -> dict[str, frozenset[str]]:
    """Return the stop words of each language: function words and common adverbs.

    The English ones are those of scikit-learn, whose module takes a tenth of a second to import.
    """
    text = Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8")
    parts = (part.split(":\n", 1) for part in text.strip().split("\n\n"))
    return {name: frozenset(words.split()) for name, words in parts}


def stop_words_of(wanted: str | Sequence[str] | None) -> frozenset[str]:
    """Return the stop words of a language, or those of a list."""
    if not isinstance(wanted, str):
        return frozenset(str(word) for word in wanted or ())
    if wanted not in stop_word_lists():
        raise InvalidInput(
            "is not a language with a list of stop words",
            argument="stop_words",
            value=wanted,
            remedy=f"choose auto, {', '.join(stop_word_lists())}, or give the words",
        )
    return stop_word_lists()[wanted]


def language_of(texts: Iterable[str]) -> str | None:
    """Return the language whose stop words are most frequent in texts, or None if none is."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(_LETTERS.findall(text[:3000].lower()))
    total = sum(words.values())
    shares = {
        name: sum(words[word] for word in known) / max(total, 1)
        for name, known in stop_word_lists().items()
    }
    best = max(shares, key=lambda name: shares[name])
    return best if total >= 50 and shares[best] >= FEWEST_FUNCTION_WORDS else None


def without_contractions(text: str) -> str:
    """Return lower case without contracted function words, as in "I'm", "don't" and "l'été"."""
    plain = text.lower().replace("\u2019", "'")
    if "'" not in plain:
        return plain
    words = plain.split()
    for place, word in enumerate(words):
        if "'" in word:
            words[place] = _ELISION.sub(" ", _ENDING.sub(" ", _NEGATION.sub(" ", word)))
    return " ".join(words)


def looks_like_code(word: str) -> bool:
    """Return whether a Latin word has no vowel, or too many letters or digits."""
    if not word.isascii():
        return False
    letters = word.translate(_NO_DIGITS)
    without_vowel = len(word) >= 5 and not _VOWEL.search(word)
    return without_vowel or len(letters) * 2 < len(word) or len(word) > 30


def signs_of(text: str) -> list[str]:
    """Return signs that a text needs preparation: "blank", "mail", "attachment", …

    A mail begins with a header of at least two fields of mails.
    """
    head, plain = text[:2000].split("\n\n", 1)[0], text.isascii()
    found = {
        "blank": not text.strip(),
        "mail": bool(HEADER_LINE.match(head)) and len(_MAIL_FIELDS.findall(head)) >= 2,
        "attachment": has_attachment(text),
        "unspaced": not plain and bool(UNSPACED.search(text)),
        "emoji": not plain and bool(_EMOJI.search(text)),
    }
    return [name for name, there in found.items() if there]


COMMON_NOTICES = {
    "mail": "look like emails: remove headers, quotations, attachments and signatures (--mail, or "
    "provenmf.io.mail.body_of in Python)",
    "unspaced": "are in a script without spaces, such as Chinese or Japanese: pairs of characters "
    "are counted as words; give a tokenizer in Python, such as jieba.lcut, for real words",
    "emoji": "have emoji, which are not counted; give a tokenizer in Python, such as str.split, to "
    "count them",
    "copy": "are exact copies of others: topics may describe what is repeated; remove duplicates "
    "unless repetition matters",
}


def text_notices(
    signs: Mapping[str, int], counts: sp.csr_array, vocabulary: NDArray[np.str_]
) -> tuple[str, ...]:
    """Return sentences about texts that need preparation, with what to do; often none.

    signs : how many texts have each of `signs_of`, and how many are "copy" of an earlier one.
    """
    shares = {name: signs.get(name, 0) / counts.shape[0] for name in COMMON_NOTICES}
    found = [
        f"{share:.0%} of the texts {COMMON_NOTICES[name]}"
        for name, share in shares.items()
        if share >= NOTICED
    ]
    if signs.get("attachment"):  # one encoded file has hundreds of codes and can become a topic
        found.append(
            f"encoded attachments (uuencode or base64) in {counted(signs['attachment'], 'text')} "
            "are counted as words: remove them (--mail, or provenmf.io.mail.body_of in Python)"
        )
    median = float(np.median(counts.sum(axis=1)))
    if median < SHORT:
        found.append(
            f"the texts are short: half of them have at most "
            f"{counted(round(median), 'counted word')}. Topics of short texts are uncertain; join "
            "texts that belong together"
        )
    codes = [str(word) for word in vocabulary if looks_like_code(str(word))]
    if len(codes) >= NOTICED * len(vocabulary):
        found.append(
            f"{len(codes) / len(vocabulary):.0%} of the words look like codes, such as "
            f"{', '.join(codes[:3])}: count only words that occur in more documents "
            "(--min-documents, or min_documents in Python), or remove attachments from the texts"
        )
    return tuple(found)


@dataclass(frozen=True)
class Splitting:
    """Settings for splitting texts into words.

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
            if not text.isascii() and UNSPACED.search(text):
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


Chunk: TypeAlias = tuple[list[str], sp.csr_array, Counter[str], list[bytes]]


def count_chunk(splitting: Splitting, texts: Sequence[str]) -> Chunk:
    """Return words, counts over these words, signs (see `signs_of`) and hashes of some texts."""
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    known = None if splitting.vocabulary is None else frozenset(splitting.vocabulary)
    tokens: list[int] = []
    ends = [0]
    for text in texts:
        words = splitting.words(text)
        if known is not None:
            words = [word for word in words if word in known]
        tokens.extend(map(number_of.__getitem__, words))
        ends.append(len(tokens))
    shape = (len(texts), len(number_of))
    counts = sp.csr_array((np.ones(len(tokens), np.int32), np.array(tokens, np.int32), ends), shape)
    counts.sum_duplicates()
    counts.data = counts.data.astype(np.min_scalar_type(int(counts.data.max(initial=0))))
    signs = Counter(sign for text in texts for sign in signs_of(text))
    hashes = [blake2b(text.encode(errors="replace"), digest_size=8).digest() for text in texts]
    return list(number_of), counts, signs, hashes


@dataclass(eq=False)
class WordCounter:
    """Chunks of counts over one growing vocabulary; add all texts, then ask for the counts."""

    splitting: Splitting
    n_texts: int = 0
    signs: Counter[str] = field(default_factory=Counter)
    _number_of: dict[str, int] = field(default_factory=dict)
    _chunks: list[sp.csr_array] = field(default_factory=list)

    def add(
        self,
        texts: Iterable[str],
        n_jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Count texts, in `n_jobs` processes if there are many of them.

        progress : called with the number of texts counted so far.
        """
        seen: set[bytes] = set()
        number_of = self._number_of
        for words, counts, signs, hashes in self._counted(batches(texts), n_jobs):
            places = [number_of.setdefault(word, len(number_of)) for word in words]
            columns = np.array(places, dtype=np.int32)[counts.indices]
            shape = (counts.shape[0], len(number_of))
            self._chunks.append(sp.csr_array((counts.data, columns, counts.indptr), shape=shape))
            self.n_texts += len(hashes)
            before = len(seen)
            seen.update(hashes)
            self.signs += signs + Counter(copy=len(hashes) - (len(seen) - before))
            if progress is not None:
                progress(self.n_texts)

    def _counted(self, work: Iterator[list[str]], n_jobs: int) -> Iterator[Chunk]:
        """Count batches, reading only a few ahead of the processes."""
        first = list(islice(work, FEWEST_CHUNKS))
        if n_jobs == 1 or len(first) < FEWEST_CHUNKS:
            yield from (count_chunk(self.splitting, batch) for batch in chain(first, work))
            return
        from joblib import Parallel, delayed

        pool = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)
        # Ctrl-C reaches this process, which ends the others.
        with handling(signal.SIG_IGN, [signal.SIGINT], signal.getsignal(signal.SIGINT)):
            counted = pool(
                delayed(count_chunk)(self.splitting, batch) for batch in chain(first, work)
            )
        yield from counted

    def vocabulary(self, least: float, most: float) -> list[str]:
        """Return the sorted words that occur in a permitted number of documents."""
        if self.splitting.vocabulary is not None:
            return list(self.splitting.vocabulary)
        size = len(self._number_of)
        documents = np.zeros(size, dtype=np.int64)
        for chunk in self._chunks:
            documents += np.bincount(chunk.indices, minlength=size)
        kept = (documents >= least) & (documents <= most)
        return sorted(w for w, n in self._number_of.items() if kept[n] and len(w) <= LONGEST_WORD)

    def matrix(self, vocabulary: Sequence[str]) -> sp.csr_array:
        """Return all counts of these words (texts, words) in double precision."""
        place = np.full(max(len(self._number_of), 1), -1, dtype=np.int32)
        for column, word in enumerate(vocabulary):
            if word in self._number_of:
                place[self._number_of[word]] = column
        parts = [sp.csr_array((0, len(vocabulary)))]
        for chunk in self._chunks:
            columns = place[chunk.indices]
            parts.append(with_entries(chunk, columns >= 0, columns, len(vocabulary)))
            parts[-1].sort_indices()
        return sp.csr_array(sp.vstack(parts, format="csr", dtype=float))


def with_entries(
    rows: sp.csr_array, kept: NDArray[np.bool_], columns: NDArray[np.integer], n_columns: int
) -> sp.csr_array:
    """Return the stored entries that are kept, in their new columns."""
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr].astype(rows.indptr.dtype)
    return sp.csr_array((rows.data[kept], columns[kept], ends), (rows.shape[0], n_columns))


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of texts with about two million characters each."""
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


@checked()
def count_words(
    corpus: Corpus | TextFile | Iterable[str],
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    stop_words: str | Sequence[str] | None = "auto",
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
    ngram_range : tuple of two int, default (1, 1)
        Least and largest number of consecutive words that are counted as a term.
    tokenizer : callable, optional
        Returns the words of a text, e.g. jieba.lcut for Chinese. By default words are runs of
        letters in lower case, or pairs of characters in scripts without spaces.
    vocabulary : sequence of str or dict, optional
        Count these words, in this order, and ignore the options above but the tokenizer. A dict,
        as scikit-learn's `vocabulary_`, has their columns.
    n_jobs : int, default 1
        Processes that count.
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
    corpus = as_corpus(corpus)
    language, said = (None, ()) if vocabulary is not None else chosen_language(corpus, stop_words)
    splitting = splitting_of(language, vocabulary, corpus, ngram_range, tokenizer)
    counter, names, notes = counted_texts(corpus, splitting, n_jobs, progress)
    words = chosen_words(counter, corpus, min_documents, max_share)
    common = counter.vocabulary(max_share * counter.n_texts + 0.5, counter.n_texts)
    if vocabulary is None and common:
        said = (*said, f"{listed(common)} in more than {max_share:.0%} of the texts left out")
    matrix, known = counter.matrix(words), np.array(words, dtype=np.str_)
    if splitting.mail:  # what was written is counted, without header and attachments
        counter.signs -= Counter(mail=counter.signs["mail"], attachment=counter.signs["attachment"])
    notices = text_notices(counter.signs, matrix, known)
    kept = corpus.texts if isinstance(corpus, Corpus) else corpus
    return Counts(matrix, known, kept, names, (*notes, *said, *notices))


def counted_texts(
    corpus: Corpus | TextFile,
    splitting: Splitting,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[WordCounter, Sequence[str], Sequence[str]]:
    """Count all texts; return the counter with the names of the texts and notes about them."""
    counter = WordCounter(splitting)
    if isinstance(corpus, Corpus):
        counter.add(corpus.texts, n_jobs, progress)
        return counter, corpus.names, corpus.notes
    names: list[str] = []
    notes: list[str] = []
    counter.add(corpus.texts(names, notes), n_jobs, progress)
    return counter, names, notes


def listed(words: Sequence[str] | NDArray[np.str_]) -> str:
    """Return the number of words and the first ones: "9 words (a, b, c, d, e, f, …)"."""
    more = ", …" if len(words) > NAMED else ""
    return f"{counted(len(words), 'word')} ({', '.join(map(str, words[:NAMED]))}{more})"


def as_corpus(texts: Corpus | TextFile | Iterable[Any]) -> Corpus | TextFile:
    """Return texts with names, or raise an error that says which of them is not a text."""
    if isinstance(texts, Corpus | TextFile):
        return texts
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            missing = type(text).__name__ in ("NoneType", "NAType") or text != text
            raise InvalidInput(
                f"documents[{number}] is {'missing' if missing else type(text).__name__}, not a "
                f"text ({text!r}): "
                + ("leave missing texts out, or put '' in their place" if missing else "give str")
            )
    return Corpus(found, [f"document {n}" for n in range(1, len(found) + 1)])


def chosen_language(
    corpus: Corpus | TextFile, stop_words: str | Sequence[str] | None
) -> tuple[str | Sequence[str] | None, tuple[str, ...]]:
    """Return the language whose stop words to remove, and a note about it.

    The language is that of the first 300 texts.
    """
    if not isinstance(stop_words, str):
        return stop_words, ()
    texts = corpus.texts if isinstance(corpus, Corpus) else corpus.texts([], [])
    found = language_of(islice(texts, 300))
    if stop_words == "auto":
        if found in (None, "english"):
            return "english", ()
        name = found.title()
        return found, (f"the texts look {name}: {name} stop words were left out",)
    if found is not None and found != stop_words:
        return stop_words, (
            f"the texts look {found.title()}, but {stop_words} stop words were left out: use "
            f"stop_words={found!r} (--stop-words {found})",
        )
    return stop_words, ()


def chosen_words(
    counter: WordCounter, corpus: Corpus | TextFile, min_documents: int, max_share: float
) -> list[str]:
    """Return the words that remain after removing rare and frequent ones."""
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
    words = counter.vocabulary(least, max(max_share * n_texts, least))
    if words:
        return words
    if counter.vocabulary(least, n_texts):
        raise InvalidInput(
            f"leaves no word: every word of {n_texts} documents is in more than {max_share:.0%} "
            f"of them, or in fewer than {min_documents} of them",
            argument="max_share",
            value=max_share,
            remedy="raise it to {argument=1.0}",
        )
    if counter.vocabulary(1, n_texts):
        raise InvalidInput(
            f"leaves no word: no word occurs in {min_documents} of {n_texts} documents",
            argument="min_documents",
            value=min_documents,
            remedy="lower it to {argument=1}, or use more or longer texts",
        )
    raise InvalidInput(f"no word is left of {n_texts} documents but stop words: use other texts")


def splitting_of(
    stop_words: str | Sequence[str] | None,
    vocabulary: Sequence[str] | None,
    corpus: Corpus | TextFile,
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
        chosen = stop_words_of(stop_words)
        return Splitting(chosen, mail=mail, ngram_range=(least, most), tokenizer=tokenizer)
    words = tuple(str(word) for word in by_column(vocabulary))
    if len(set(words)) < len(words):
        twice = next(word for word in words if words.count(word) > 1)
        raise InvalidInput(f"vocabulary has {twice!r} twice: give every word once")
    whole = any(without_contractions(word) != word.lower() for word in words)
    lengths = [word.count(" ") + 1 for word in words] if tokenizer is None else [1]
    sizes = (min(lengths, default=1), max(lengths, default=1))
    return Splitting(
        vocabulary=words, whole=whole, mail=mail, ngram_range=sizes, tokenizer=tokenizer
    )
