"""`plot` of records: the report draws its charts for notebooks too.

The report stands above the records and knows their types, so that its module is named here and not
imported, as pandas does with its plotting backends; nothing is loaded before somebody plots.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

Backend = Literal["plotly", "matplotlib"]
DRAWS = "provenmf.report.plots"


class Plotted:
    """What has charts: a factorization, or an answer."""

    def plot(self, chart: str | None = None, *, backend: Backend = "plotly") -> Any:
        """One chart of the report as a figure, for notebooks.

        Parameters
        ----------
        chart : str, optional
            Words of its title, such as "map" or "trace"; by default the components.
        backend : {"plotly", "matplotlib"}, default "plotly"
            Which package draws (extra `plot`).

        Returns
        -------
        plotly.graph_objects.Figure or matplotlib.figure.Figure
        """
        return import_module(DRAWS).plot(self, chart, backend)


def plot_curves(panels: Any, x_label: str, title: str, backend: Backend, **more: Any) -> Any:
    """Curves by the label of their axis, in panels one above the other."""
    return import_module(DRAWS).stacked(panels, x_label, title, backend, **more)
