"""Errors and warnings of provenmf; each message says what to do next."""


class InvalidInput(ValueError):
    """An argument or the data cannot be used; the message names it, its value and the remedy."""


class UnreadableFile(InvalidInput):
    """A file is missing, truncated, foreign, or from a newer version of provenmf."""


class MissingExtra(ImportError):
    """An optional dependency is needed; the message names the extra to install."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'provenmf[{extra}]'")


class TooLarge(InvalidInput):
    """The computation would need more memory than is sensible; the message gives the size."""


class DegenerateData(UserWarning):
    """The data let only part of the request be met; the message says what was done instead."""
