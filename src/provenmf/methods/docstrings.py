"""Parameters and attributes that all estimators share, described once.

A docstring that says "As in every estimator" of some names gets their descriptions from here when
its class is made, so that `help` and the API reference are complete.
"""

from __future__ import annotations

import inspect
import re

SHARED = {
    "random_state": """int, RandomState instance or None, default=None
        Random seed; the same seed gives the same result.""",
    "certify": """bool or "full", default=True
        Whether to compute the certificate. True leaves out what takes longer than the fit (and
        than 50 ms), by the sizes of the data; "full" leaves out nothing.""",
    "verbose": """int, default=0
        1 writes a line for each iteration to the logger "provenmf". Its output goes to standard
        error unless the program has set up logging.""",
    "callback": """callable or None, default=None
        Called after each iteration with a dict of numbers, the row of the trace. Return True to
        stop the fit.""",
    "on_interrupt": """{"raise", "return"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt, or return the best result so far. With "return",
        a second Ctrl-C skips the certificate, or raises if there is no result yet.""",
    "vertices": """bool, default=False
        Whether each component is the mean of all rows that lie at its anchor within their noise.
        This is closer to the truth than one noisy row. `anchors_` are still rows.""",
    "row_errors": """array (n_rows,) or None, default=None
        With vertices: the standard error of the entries of each row. None uses one number for all
        rows, their root mean square distance from the span of the anchors; this needs more columns
        than components.""",
    "components_": """array (k, d)
        The components, one per row.""",
    "n_components_": """int
        Number of components, which can be smaller than requested.""",
    "n_iter_": """int
        Number of iterations.""",
    "reconstruction_err_": """float
        ||X - weights @ components||_F.""",
    "trace_": """Trace
        The course of the iterations, as named columns.""",
    "certificate_": """Certificate
        What you can believe about the result; missing with certify=False.""",
    "factorization_": """Factorization
        The whole result as one record that can be saved.""",
    "n_features_in_": """int
        Number of columns of X.""",
}

_MENTION = re.compile(
    r"^(\w+(?:, \w+)*)\n    As in every estimator\.( *[^\n]*(?:\n    [^\n]+)*)", re.M
)


def completed(text: str) -> str:
    """The docstring with the shared descriptions in the place of their mention.

    What follows "As in every estimator." is about the last of the names, or about `trace_`.
    """

    def described(found: re.Match[str]) -> str:
        names, more = found[1].split(", "), found[2].strip()
        entries = {name: inspect.cleandoc(f"{name} : {SHARED[name]}") for name in names}
        entries = {name: entry.replace("\n", "\n    ") for name, entry in entries.items()}
        if more:
            entries["trace_" if "trace_" in names else names[-1]] += f"\n    {more}"
        return "\n".join(entries.values())

    return _MENTION.sub(described, inspect.cleandoc(text))
