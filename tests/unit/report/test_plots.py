"""Charts of the report as figures of plotly and matplotlib."""

import numpy as np
import pytest

from provenmf.errors import InvalidInput
from provenmf.report.plots import charts
from provenmf.results import as_answer

go = pytest.importorskip("plotly.graph_objects")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def closing():
    """Figures of matplotlib stay open until they are closed."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_every_chart_of_every_kind_is_drawn_by_both(result, closing):
    for title in charts(as_answer(result)):
        assert isinstance(result.plot(title), go.Figure)
        figure = result.plot(title, backend="matplotlib")
        figure.draw_without_rendering()
        assert figure.get_suptitle()


def test_the_components_come_first(results):
    topics = results["topics"]
    figure = topics.plot()
    assert figure.layout.title.text == "Topics"
    assert len(figure.data) == topics.n_components
    assert list(charts(results["unmixing"]))[0] == "Spectra of the materials"
    parts = results["parts"].plot()
    np.testing.assert_array_equal(parts.data[0].z, results["parts"].parts[0])


def test_factorizations_have_them_too(results):
    figure = results["topics"].factorization.plot()
    assert figure.layout.title.text == "Components"


def test_an_unknown_chart_or_backend_is_answered_with_those_there_are(results):
    with pytest.raises(InvalidInput, match="choose one of 'Topics', "):
        results["topics"].plot("pie")
    with pytest.raises(InvalidInput, match="use 'plotly' or 'matplotlib'"):
        results["topics"].plot(backend="gnuplot")


def test_names_are_text_and_no_markup(results, closing):
    topics = results["topics"].labelled({1: "<b>$x_1$ & co</b>"})
    titles = {note.text for note in topics.plot().layout.annotations}
    assert "&lt;b>$x_1$ &amp; co&lt;/b>" in titles
    topics.plot(backend="matplotlib").draw_without_rendering()


def test_axes_of_whole_numbers_have_no_halves_and_notebooks_show_a_figure_once(monkeypatch):
    import matplotlib.pyplot as plt

    from provenmf.report.figures import Lines
    from provenmf.report.matplotlib_canvas import MatplotlibCanvas

    canvas = MatplotlibCanvas(["error"], 1, "")
    canvas.draw(0, Lines([("error", [1, 2, 3], [0.5, 0.2, 0.1])], "K", "error"))
    assert all(tick == round(tick) for tick in canvas.panels[0].get_xticks())
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    assert not plt.fignum_exists(canvas.finished().number)
