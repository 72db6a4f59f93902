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
# Three lines in a row are no accident. A shorter line may end them, and uuencode's begin and end
# stand around them.
TAIL = (
    r"[!-L][ -`]{4,60}(?=\s*(?:`|end\s))"
    r"|(?=\S*[\d+/=])(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2,4}={0,2}"
)
ATTACHMENT = re.compile(
    r"(?:^begin [0-7]{3,4} \S.*\n)?"
    rf"(?:^(?:{UUENCODED}|{BASE64})[ \t\r]*(?:\n|\Z)){{3,}}"
    rf"(?:^(?:{TAIL})[ \t\r]*(?:\n|\Z))?(?:^(?:`?|end)[ \t\r]*(?:\n|\Z)){{,2}}",
    re.M,
)

# Found far faster, for a newline comes first: most texts have no such line.
FULL_LINE = re.compile(rf"\n(?:{UUENCODED}|{BASE64})[ \t\r]*(?:\n|\Z)")


def body_of(message: str) -> str:
    """Return the author's text, without header, quotations, attachments and signature.

    The header ends at the first empty line, and counts only if its first line looks like one.
    Quoted lines and the lines that introduce them are left out, attachments in uuencode or base64,
    and what follows a line of two dashes.
    """
    text = ATTACHMENT.sub("", message) if has_attachment(message) else message
    lines = text.splitlines()
    if lines and HEADER_LINE.match(lines[0]):
        end = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
        lines = lines[end + 1 :]
    end = next((n for n, line in enumerate(lines) if SIGNATURE.match(line)), len(lines))
    kept = [line for line in lines[:end] if not (QUOTED.match(line) or ATTRIBUTION.search(line))]
    return "\n".join(kept).strip()


def has_attachment(text: str) -> bool:
    """Return whether a text has at least three consecutive lines of uuencode or base64."""
    return FULL_LINE.search("\n" + text) is not None and ATTACHMENT.search(text) is not None
