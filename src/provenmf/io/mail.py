"""The body of a mail or news message: without header, quotations, attachments and signature."""

from __future__ import annotations

import re

HEADER_LINE = re.compile(r"^[A-Za-z][\w-]*:\s")
QUOTED = re.compile(r"^\s*(>|\||\}|[A-Z]{1,4}>)")
ATTRIBUTION = re.compile(r"(writes|wrote|says|said)( in article.*)?:\s*$|^In article\b", re.I)
SIGNATURE = re.compile(r"^-- ?$")
# Full lines of uuencode begin with M, for 45 bytes, and have no small letters; those of base64 have
# small and capital letters and digits (a sequence of DNA, say, has not).
UUENCODED = r"M[ -`]{60}"
BASE64 = r"(?=\S{,75}\d)(?=\S{,75}[a-z])(?=\S{,75}[A-Z])[A-Za-z0-9+/]{60,76}"
ENCODED_LINE = re.compile(rf"^(?:{UUENCODED}|{BASE64})\s*$")
# Three lines in a row are no accident.
ATTACHMENT = re.compile(rf"(?:^(?:{UUENCODED}|{BASE64})[ \t\r]*(?:\n|\Z)){{3}}", re.M)
BASE64_TAIL = re.compile(r"^(?=.*[\d+/=])(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2,4}={0,2}\s*$")
UUENCODE_TAIL = re.compile(r"^[!-`][ -`]*$")
UUENCODE_BEGIN = re.compile(r"^begin [0-7]{3,4} \S")


def body_of(message: str) -> str:
    """Return the author's text, without header, quotations, attachments and signature.

    The header ends at the first empty line, and counts only if its first line looks like one.
    Quoted lines and the lines that introduce them are left out, attachments in uuencode or base64,
    and what follows a line of two dashes.
    """
    lines = message.splitlines()
    if lines and HEADER_LINE.match(lines[0]):
        end = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
        lines = lines[end + 1 :]
    if has_attachment(message):
        lines = without_attachments(lines)
    end = next((n for n, line in enumerate(lines) if SIGNATURE.match(line)), len(lines))
    kept = [line for line in lines[:end] if not (QUOTED.match(line) or ATTRIBUTION.search(line))]
    return "\n".join(kept).strip()


def has_attachment(text: str) -> bool:
    """Return whether a text has at least three consecutive lines of uuencode or base64."""
    return ATTACHMENT.search(text) is not None


def without_attachments(lines: list[str]) -> list[str]:
    """Remove encoded lines, the shorter line that ends them, and uuencode's begin and end."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if ENCODED_LINE.match(line) or UUENCODE_BEGIN.match(line):
            inside = True
        elif not inside or not _ends_an_attachment(line):
            inside = False
            kept.append(line)
    return kept


def _ends_an_attachment(line: str) -> bool:
    """Return whether a line can end an attachment in base64 or uuencode."""
    line = line.rstrip()
    if line in {"`", "end"} or BASE64_TAIL.match(line):
        return True
    if not UUENCODE_TAIL.match(line):
        return False
    n_bytes = ord(line[0]) - 32
    return n_bytes < 45 and len(line) - 1 <= -(-n_bytes // 3) * 4
