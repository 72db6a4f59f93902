"""`plot` of records: the report draws its charts for notebooks too.

The report stands above the records and knows their types, so that its module is named here and not
imported, as pandas does with its plotting backends; nothing is loaded before somebody plots.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

Backend = Literal["plotly", "matplotlib"]
DRAWS = "provenmf.report.plots"


def plot(result: Any, chart: str | None, backend: Backend) -> Any:
    """A chart of a factorization or an answer."""
    return import_module(DRAWS).plot(result, chart, backend)


def plot_curves(panels: Any, x_label: str, title: str, backend: Backend, **more: Any) -> Any:
    """Curves by the label of their axis, in panels one above the other."""
    return import_module(DRAWS).stacked(panels, x_label, title, backend, **more)
