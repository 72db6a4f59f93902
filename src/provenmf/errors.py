"""Errors and warnings of provenmf: each names the argument, its value, the problem, the remedy.

They keep these as fields, so that the command line can put the option that was typed in the
place of the argument without reading the text.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Self

# (argument, text of a value or None) -> how the reader knows it, such as "n_components=3"
Naming = Callable[[str, str | None], str]

_PLACEHOLDER = re.compile(r"\{(argument|:\w+)(?:=([^}]*))?\}")
_UNSAID = object()
# A message longer than this is cut in its middle; a value in it is cut much earlier.
LONGEST_MESSAGE, LONGEST_VALUE = 500, 80
# Frames of these packages are not the user's line.
_NOT_THE_USER = ("provenmf", "sklearn", "joblib")


def as_in_python(argument: str, value: str | None) -> str:
    """Return the argument, or the setting `argument=value`."""
    return argument if value is None else f"{argument}={value}"


def as_written(value: object) -> str:
    """Return a value as in Python, or its type if Python cannot write it, such as 10**5000."""
    try:
        return repr(value)
    except Exception:
        return f"({type(value).__name__})"


def printable(text: str) -> str:
    """Replace characters that could steer a terminal; line ends stay."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def legible(text: str) -> str:
    """Return a text as one line that can be shown anywhere."""
    return shortened(re.sub(r"\s*\n\s*", " ", printable(text)))


def shortened(text: str, length: int = LONGEST_MESSAGE) -> str:
    """Shorten a text in its middle; the remedy at its end stays."""
    end = length // 3
    return text if len(text) <= length else f"{text[: length - end - 3]} … {text[-end:]}"


class Message(Exception):
    """Parts of an error or a warning: problem, argument, value, remedy.

    Parameters
    ----------
    problem : str
        What is wrong. With a `value` it follows "argument=value"; otherwise it is a sentence.
    argument : str, optional
        The argument that is to blame, or that helps.
    value : object, optional
        What it was.
    remedy : str, default=""
        What to do. In problem and remedy, "{argument}" stands for the argument's name,
        "{argument=3}" for a setting of it, and "{:other=3}" for a setting of another one.

    Attributes
    ----------
    problem, argument, value, remedy
        As given; `value` is None if there was none.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        argument: str | None = None,
        value: object = _UNSAID,
        remedy: str = "",
    ) -> None:
        self.problem = problem
        self.argument = argument
        self.value = None if value is _UNSAID else value
        self.remedy = remedy
        self.place = ""  # where it happened, such as a file
        self._has_value = value is not _UNSAID
        super().__init__(self.sentence())

    def sentence(self, naming: Naming = as_in_python) -> str:
        """Return the whole message, with arguments renamed for the reader."""
        text = f"{self.problem}: {self.remedy}" if self.remedy else self.problem
        if self.argument is not None:
            own = self.argument

            def named(found: re.Match[str]) -> str:
                return naming(own if found[1] == "argument" else found[1][1:], found[2])

            text = _PLACEHOLDER.sub(named, text)
            if self._has_value:
                value = " ".join(as_written(self.value).split())
                text = f"{naming(own, shortened(value, LONGEST_VALUE))} {text}"
        return legible(f"{self.place}: {text}" if self.place else text)

    def __str__(self) -> str:
        return self.sentence()

    def at(self, place: str) -> Self:
        """Return the same message about a place, such as a file."""
        moved = type(self).__new__(type(self), *self.args)
        moved.__dict__.update(self.__dict__)
        moved.place = place
        return moved


class ProvenmfError(Exception):
    """Base of all errors that provenmf raises; anything else that reaches you is a bug.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import SPA, ProvenmfError
    >>> try:
    ...     SPA(5).fit(np.eye(3))
    ... except ProvenmfError as error:
    ...     print(error)
    n_components=5 exceeds 3, the number of rows: choose n_components <= 3
    """


class InvalidInput(Message, ProvenmfError, ValueError):
    """An argument or the data cannot be used.

    Examples
    --------
    >>> from provenmf import InvalidInput
    >>> error = InvalidInput("exceeds the 3 rows", argument="n_components", value=5)
    >>> str(error), error.argument, error.value
    ('n_components=5 exceeds the 3 rows', 'n_components', 5)
    """


class NotNumbers(InvalidInput, TypeError):
    """Data have entries that are not numbers.

    Examples
    --------
    >>> from provenmf import SPA
    >>> from provenmf.errors import NotNumbers
    >>> try:
    ...     SPA(1).fit([[{}, 1.0]])
    ... except NotNumbers as error:
    ...     print(error)
    float() argument must be a string or a real number, not 'dict'
    """


class UnreadableFile(InvalidInput):
    """A file is missing, truncated, foreign, or from a newer version of provenmf.

    Examples
    --------
    >>> from provenmf import load
    >>> from provenmf.errors import UnreadableFile
    >>> try:
    ...     load("nowhere.npz")
    ... except UnreadableFile as error:
    ...     print(error)
    nowhere.npz does not exist: check the path
    """


class TooLarge(InvalidInput):
    """The computation would exceed the memory limit; the message gives the size.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import FastGradient
    >>> from provenmf.errors import TooLarge
    >>> try:
    ...     FastGradient(2).fit(np.ones((50_000, 1)))
    ... except TooLarge as error:
    ...     print(str(error)[:59])
    FastGradient keeps four 50000 × 50000 matrices, 80.0 GB: us
    """


class MissingExtra(ProvenmfError, ImportError):
    """An optional dependency is needed; the message names the extra to install.

    Parameters
    ----------
    purpose : str
        What needs it, or the whole message.
    extra : str, default=""
        The extra to install.

    Examples
    --------
    >>> from provenmf.errors import MissingExtra
    >>> print(MissingExtra("a figure", "plot"))
    a figure needs an optional part: pip install 'provenmf[plot]'
    """

    def __init__(self, purpose: str, extra: str = "") -> None:
        needs = f" needs an optional part: pip install 'provenmf[{extra}]'" if extra else ""
        super().__init__(f"{purpose}{needs}")


def optional(module: str, purpose: str, extra: str) -> Any:
    """Import a module that is not always installed; MissingExtra says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(purpose, extra) from error


class ClusterLost(ProvenmfError, RuntimeError):
    """The scheduler or workers of a Dask cluster were lost with their data.

    Examples
    --------
    >>> from provenmf import ProvenmfError
    >>> from provenmf.errors import ClusterLost
    >>> issubclass(ClusterLost, ProvenmfError)
    True
    """


class DegenerateData(Message, UserWarning):
    """The data let only part of the request be met; the message says what was done instead.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from provenmf import SPA, DegenerateData
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = SPA(3).fit(np.tile([1.0, 2.0], (4, 1)))
    >>> caught[0].category is DegenerateData, caught[0].message.argument
    (True, 'n_components')
    """


def warn_user(message: Warning) -> None:
    """Warn at the line of the user's code that called the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def was_interrupted(error: BaseException | None) -> bool:
    """Return whether an error began as Ctrl-C; numpy, numba and imports may turn it into others."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _is_library(module: str) -> bool:
    return module.split(".")[0] in _NOT_THE_USER


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 node`, `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
