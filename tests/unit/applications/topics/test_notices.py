"""Contractions, stop words of other languages, and notices about texts."""

import base64
import json

import numpy as np
import pytest

from provenmf.applications import count_words
from provenmf.applications.topics.texts import (
    language_of,
    looks_like_code,
    signs_of,
    stop_word_lists,
    without_contractions,
)
from provenmf.errors import InvalidInput
from provenmf.io.texts import TextFile

WORDS = "ship sail harbour storm wave anchor deck mast rope crew"


def test_contractions_are_no_words():
    texts = ["I'm sure the ship's crew doesn't sail", "I\u2019m on the ship, they've a crew, sail"]
    assert count_words(texts, max_share=1.0).vocabulary.tolist() == ["crew", "sail", "ship"]
    kept = count_words(["don't sail", "sail, don't"], vocabulary=["don't", "sail"])
    assert kept.matrix.toarray().tolist() == [[1, 1], [1, 1]]
    assert without_contractions("L'\u00e9t\u00e9 o'clock").split() == ["\u00e9t\u00e9", "o'clock"]


def test_stop_words_of_other_languages():
    texts = ["das Schiff und der Hafen", "der Hafen und das Schiff"]
    found = count_words(texts, stop_words="german", max_share=1.0).vocabulary.tolist()
    assert found == ["hafen", "schiff"]
    assert all(stop_word_lists().values())
    with pytest.raises(InvalidInput, match="stop_words='klingon'.*german"):
        count_words(texts, stop_words="klingon")


def test_mails_are_noticed():
    mail = f"From: a@b.c\nSubject: boats\n\n{WORDS}"
    assert signs_of(mail) == ["mail"] and signs_of(f"Note: {WORDS}") == []
    notes = count_words([mail] * 3, max_share=1.0).notes
    assert any("--mail" in note for note in notes)
    texts = [f"{WORDS} {number}" for number in range(3)]
    assert count_words(texts, max_share=1.0).notes == ()
    notes = count_words(["ship sail", "ship sail", "sail ship"], max_share=1.0).notes
    assert any("at most 2 counted words" in note for note in notes)


def test_codes_are_noticed():
    assert looks_like_code("mxjqzk") and looks_like_code("m3405871")
    assert not looks_like_code("rhythm") and not looks_like_code("harbour")
    notes = count_words([f"{WORDS} mxjqzk bhjxx g9v0q82"] * 3, max_share=1.0).notes
    assert any("look like codes, such as" in note for note in notes)


def test_attachments_are_noticed_and_left_out_of_mails(tmp_path):
    code = base64.encodebytes(np.random.default_rng(0).bytes(900)).decode()
    texts = [f"{WORDS}\n\n{code}", f"{WORDS} \n\n{code}", WORDS]
    notes = count_words(texts, max_share=1.0).notes
    assert any("attachments (uuencode or base64) in 2 texts" in n and "--mail" in n for n in notes)
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    cleaned = count_words(TextFile(path, mail=True), max_share=1.0)
    assert set(cleaned.vocabulary) == set(WORDS.split()) and cleaned.notes == ()


def test_the_language_is_found_and_said():
    german = "Die Schiffe liegen im Hafen und die Wellen schlagen an das Ufer, aber es ist still. "
    french = "Les navires sont dans le port et les vagues sont sur la rive, mais il est tard. "
    english = "The ships are in the harbour and the waves are on the shore, but it is late now. "
    for text, language in ((german, "german"), (french, "french"), (english, "english")):
        assert language_of([text] * 10) == language
    counts = count_words([german + "Anker", french, german] * 5, max_share=1.0)
    assert "die" not in counts.vocabulary and "schiffe" in counts.vocabulary
    assert any("German stop words were left out" in note for note in counts.notes)
    notes = count_words([german] * 9, stop_words="english", max_share=1.0).notes
    assert any("stop_words='german'" in note for note in notes)
    assert language_of(["ship sail"] * 50) is None


def test_scripts_without_spaces_emoji_and_copies_are_noticed():
    counts = count_words(["船在海上", "海上的船", "面包和面粉", "面粉面包"], max_share=1.0)
    assert {"海上", "面包", "面粉"} <= set(counts.vocabulary)
    assert any("without spaces" in note and "tokenizer" in note for note in counts.notes)
    notes = count_words([f"{WORDS} \U0001f600", f"{WORDS} again"] * 3, max_share=1.0).notes
    assert any("emoji" in note for note in notes)
    assert any("exact copies" in note for note in notes)


@pytest.mark.parametrize(
    "texts, options, message",
    [
        (["ship sail", "ship sail"] * 4, {}, "max_share"),
        (["ship sail", "wave bread"], {}, "min_documents"),
        (["the of", "of the"], {}, "stop words"),
        (["ship sail"] * 3, {"ngram_range": (2, 1)}, "ngram_range"),
    ],
)
def test_what_leaves_no_word_is_named(texts, options, message):
    with pytest.raises(InvalidInput, match=message):
        count_words(texts, **options)
