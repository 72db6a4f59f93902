"""Where a result comes from: file, command and time, for the top of its report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """How a result was made by the command line.

    Parameters
    ----------
    file : str
        Name of the data file, without its folder.
    command : str
        The command as it was typed.
    date : str
        When it ended, as in "2026-05-17 14:05".

    Examples
    --------
    >>> from provenmf.results.origin import Origin
    >>> Origin("letters.csv", "provenmf topics letters.csv -k 10", "2026-05-17 14:05").file
    'letters.csv'
    """

    file: str = ""
    command: str = ""
    date: str = ""
