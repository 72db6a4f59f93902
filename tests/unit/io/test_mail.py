import base64
import binascii

import numpy as np
import pytest

from provenmf.io.mail import body_of, has_attachment

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


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (MESSAGE, "My own words.\n\nSecond paragraph: kept."),
        ("Dear all,\n\nnews.", "Dear all,\n\nnews."),  # no header: the first line stays
        ("From: a\nTo: b", ""),
        ("", ""),
    ],
)
def test_body_is_what_the_author_wrote(message, body):
    assert body_of(message) == body


def uuencoded(data):
    lines = [binascii.b2a_uu(data[i : i + 45]).decode() for i in range(0, len(data), 45)]
    return "begin 644 boat.gif\n" + "".join(lines) + "`\nend\n"


@pytest.mark.parametrize("n_bytes", [180, 600, 1001])
@pytest.mark.parametrize(
    "encode", [uuencoded, lambda data: base64.encodebytes(data).decode()], ids=["uu", "base64"]
)
def test_attachments_are_left_out(encode, n_bytes):
    data = np.random.default_rng(n_bytes).bytes(n_bytes)
    message = f"A boat.\n\n{encode(data)}\nRegards\nA. MAN\n"
    for text in (message, message.replace("\n", "\r\n")):
        assert has_attachment(text)
        assert body_of(text).split() == ["A", "boat.", "Regards", "A.", "MAN"]


@pytest.mark.parametrize(
    "text",
    [
        "ACGTTGCA" * 8 + "\n" + "ACGTTGCA" * 8 + "\n" + "ACGTTGCA" * 8,
        "MR SMITH SAID THAT SALES OF CRUDE OIL ROSE BY 4 PCT IN 1987.\n" * 5,
        "an ordinary line\n" * 5,
    ],
)
def test_other_lines_are_no_attachments(text):
    assert not has_attachment(text)
    assert body_of(text) == text.strip()
