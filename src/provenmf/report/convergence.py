"""How the method got there: the trace as curves, why it stopped, and how it was called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.methods import CATALOGUE
from provenmf.report import figures
from provenmf.report.elements import Chart, ChartGrid, Element, Paragraph, Table
from provenmf.results import Factorization


def convergence(result: Factorization) -> list[Element]:
    """The elements of the second tab."""
    steps = len(result.trace)
    time = f" in {result.trace['seconds'][-1]:.3g} s" if "seconds" in result.trace and steps else ""
    reason = result.stop_reason.sentence
    text = f"{method_name(result)} made {steps} iteration{'s' * (steps != 1)}{time}. {reason}"
    elements: list[Element] = [Paragraph(text)] if steps else []
    charts = [
        _curve(result, name)
        for name in result.trace.columns
        if name != "seconds" and _changes(np.asarray(result.trace[name], dtype=float))
    ]
    if charts and steps > 1:
        elements.append(ChartGrid("Trace", charts))
    if not elements:
        elements = [
            Paragraph(
                f"{method_name(result)} needs no iterations or recorded none, so there is no "
                f"trace to draw. {reason}"
            )
        ]
    parameters = [(name, str(value)) for name, value in result.parameters.items()]
    versions = [(name, str(value)) for name, value in result.versions.items()]
    elements.append(Table("Parameters", ("name", "value"), parameters))
    elements.append(Table("Versions", ("package", "version"), versions))
    return elements


def method_name(result: Factorization) -> str:
    """The method as its users write it."""
    return CATALOGUE.get(result.method, result.method)


def _changes(values: NDArray[np.float64]) -> bool:
    """Whether there is a curve to draw."""
    finite = values[np.isfinite(values)]
    return finite.size > 0 and bool(np.ptp(finite) > 0)


def _curve(result: Factorization, name: str) -> Chart:
    values = np.asarray(result.trace[name], dtype=float)
    positive = values[np.isfinite(values) & (values > 0)]
    wide = len(positive) > 0.9 * len(values) and positive.max() > 30 * positive.min()
    iterations = np.arange(1, len(values) + 1)
    label = name.replace("_", " ")
    figure = figures.Lines([(label, iterations, values)], "iteration", "", log_y=wide)
    return Chart(label, figure, height=280)
