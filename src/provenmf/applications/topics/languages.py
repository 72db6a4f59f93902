"""Languages of texts: stop words, contractions, and notices about texts that need preparation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, counted
from provenmf.io.mail import HEADER_LINE, has_attachment

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
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")


@cache
def stop_word_lists() -> dict[str, frozenset[str]]:
    """Return the stop words of each language: function words and common adverbs."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    text = Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8")
    lists = {"english": frozenset(ENGLISH_STOP_WORDS)}
    for part in text.strip().split("\n\n"):
        name, words = part.split(":\n", 1)
        lists[name] = frozenset(words.split())
    return lists


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
    words = Counter(word for text in texts for word in _LETTERS.findall(text[:3000].lower()))
    total = sum(words.values())
    shares = {
        name: sum(words[word] for word in known) / max(total, 1)
        for name, known in stop_word_lists().items()
    }
    best = max(shares, key=lambda name: shares[name])
    return best if total >= 50 and shares[best] >= FEWEST_FUNCTION_WORDS else None


def without_contractions(text: str) -> str:
    """Return lower case; "I'm", "don't" and "l'été" lose what is short for a function word."""
    plain = text.lower().replace("\u2019", "'")
    if "'" not in plain:
        return plain
    return _ELISION.sub(" ", _ENDING.sub(" ", _NEGATION.sub(" ", plain)))


def looks_like_mail(text: str) -> bool:
    """Return whether a text begins with a header of at least two fields of mails."""
    head = text[:2000].split("\n\n", 1)[0]
    return bool(HEADER_LINE.match(head)) and len(_MAIL_FIELDS.findall(head)) >= 2


def looks_like_code(word: str) -> bool:
    """Return whether a Latin word has no vowel, or too many letters or digits."""
    if not word.isascii():
        return False
    digits = sum(character.isdigit() for character in word)
    without_vowel = len(word) >= 5 and not _VOWEL.search(word)
    return without_vowel or digits * 2 > len(word) or len(word) > 30


def signs_of(text: str) -> list[str]:
    """Return signs that a text needs preparation: "blank", "mail", "attachment", …"""
    found = {
        "blank": not text.strip(),
        "mail": looks_like_mail(text),
        "attachment": has_attachment(text),
        "unspaced": bool(UNSPACED.search(text)),
        "emoji": bool(_EMOJI.search(text)),
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
