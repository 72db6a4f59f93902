"""The body of a mail or news message: without header, quotations and signature."""

from __future__ import annotations

import re

HEADER_LINE = re.compile(r"^[A-Za-z][\w-]*:\s")
QUOTED = re.compile(r"^\s*(>|\||\}|[A-Z]{1,4}>)")
ATTRIBUTION = re.compile(r"(writes|wrote|says|said)( in article.*)?:\s*$|^In article\b", re.I)
SIGNATURE = re.compile(r"^-- ?$")


def body_of(message: str) -> str:
    """What the author wrote.

    The header ends at the first empty line, and counts only if its first line looks like one.
    Quoted lines and the lines that introduce them are left out, and what follows a line of two
    dashes.
    """
    lines = message.splitlines()
    if lines and HEADER_LINE.match(lines[0]):
        end = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
        lines = lines[end + 1 :]
    end = next((n for n, line in enumerate(lines) if SIGNATURE.match(line)), len(lines))
    kept = [line for line in lines[:end] if not (QUOTED.match(line) or ATTRIBUTION.search(line))]
    return "\n".join(kept).strip()
