"""What a reader should know about texts before topics are believed, with the option that helps."""

from __future__ import annotations

import re

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.io.mail import HEADER_LINE
from provenmf.io.notes import counted

# Below this median number of counted words, documents say too little about their mixture.
SHORT = 10
# The share of texts, or of words, from which on a notice is given.
NOTICED = 0.1
LONGEST_WORD = 30
_VOWEL = re.compile(r"[aeiouyàâäáåæãèéêëìíîïòóôöõøùúûüœ]")
_MAIL_FIELDS = re.compile(r"^(from|to|subject|date|newsgroups|message-id):", re.I | re.M)


def text_notices(
    mails: int, attachments: int, counts: sp.csr_array, vocabulary: NDArray[np.str_]
) -> tuple[str, ...]:
    """Sentences about texts with headers or attachments, short ones, and codes; often none.

    mails, attachments : how many texts look like mails, and how many hold encoded files.
    """
    found = (
        _mails(mails / counts.shape[0]),
        _attachments(attachments),
        _short(counts),
        _codes(vocabulary),
    )
    return tuple(sentence for sentence in found if sentence)


def looks_like_mail(text: str) -> bool:
    """Whether a text begins with a header of at least two fields of mails."""
    head = text[:2000].split("\n\n", 1)[0]
    return bool(HEADER_LINE.match(head)) and len(_MAIL_FIELDS.findall(head)) >= 2


def looks_like_code(word: str) -> bool:
    """Whether a word of a script with vowels has none, or too many letters or digits."""
    if not word.isascii():
        return False
    digits = sum(character.isdigit() for character in word)
    without_vowel = len(word) >= 5 and not _VOWEL.search(word)
    return without_vowel or digits * 2 > len(word) or len(word) > LONGEST_WORD


def _mails(share: float) -> str:
    if share < NOTICED:
        return ""
    return (
        f"{share:.0%} of the texts look like emails: remove headers, quotations, attachments "
        "and signatures (--mail, or provenmf.io.mail.body_of in Python)"
    )


def _attachments(number: int) -> str:
    """One encoded file has hundreds of codes and can become a topic, so that each is noticed."""
    if not number:
        return ""
    return (
        f"encoded attachments (uuencode or base64) in {counted(number, 'text')} are counted as "
        "words: remove them (--mail, or provenmf.io.mail.body_of in Python)"
    )


def _short(counts: sp.csr_array) -> str:
    median = float(np.median(counts.sum(axis=1)))
    if median >= SHORT:
        return ""
    return (
        f"the texts are short: half of them have at most {counted(round(median), 'counted word')}. "
        "Topics of short texts are uncertain; join texts that belong together"
    )


def _codes(vocabulary: NDArray[np.str_]) -> str:
    codes = [str(word) for word in vocabulary if looks_like_code(str(word))]
    if len(codes) < NOTICED * len(vocabulary):
        return ""
    return (
        f"{len(codes) / len(vocabulary):.0%} of the words look like codes, such as "
        f"{', '.join(codes[:3])}: count only words that occur in more documents (--min-documents, "
        "or min_documents in Python), or remove attachments from the texts"
    )
