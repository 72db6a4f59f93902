from provenmf.io.mail import body_of

MESSAGE = """From: somebody@somewhere
Subject: anchors

In article <1@x> other@place writes:
> quoted words
| also quoted
My own words.

Second paragraph: kept.
-- 
Some Body, Some Company
"""


def test_body_is_what_the_author_wrote():
    assert body_of(MESSAGE) == "My own words.\n\nSecond paragraph: kept."


def test_a_text_without_header_keeps_its_first_line():
    assert body_of("Dear all,\n\nnews.") == "Dear all,\n\nnews."


def test_a_message_of_header_only_is_empty():
    assert body_of("From: a\nTo: b") == ""


def test_empty_text():
    assert body_of("") == ""
