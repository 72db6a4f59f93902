"""Charts of the report as figures of matplotlib."""

import numpy as np
import pytest

from provenmf.errors import InvalidInput
from provenmf.report.plots import charts, stacked
from provenmf.results import as_answer

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def closing():
    """Figures of matplotlib stay open until they are closed."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_every_chart_of_every_kind_is_drawn(result, closing):
    for title in charts(as_answer(result)):
        figure = result.plot(title)
        figure.draw_without_rendering()
        assert figure.get_suptitle()


def test_the_components_come_first(results, closing):
    topics = results["topics"]
    figure = topics.plot()
    assert figure.get_suptitle() == "Topics"
    assert sum(axes.get_visible() for axes in figure.axes) == topics.n_components
    assert list(charts(results["unmixing"]))[0] == "Spectra of the materials"
    image = results["parts"].plot().axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), results["parts"].parts[0])
    assert topics.factorization.plot().get_suptitle() == "Components"


def test_an_unknown_chart_is_answered_with_those_there_are(results):
    with pytest.raises(InvalidInput, match="choose one of 'Topics', "):
        results["topics"].plot("pie")


def test_names_are_text_and_no_mathematics(results, closing):
    topics = results["topics"].labelled({1: "<b>$x_1$ & co</b>"})
    topics.plot().draw_without_rendering()


def test_axes_of_whole_numbers_have_no_halves_and_notebooks_show_a_figure_once(monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    figure = stacked({"error": [("error", [1, 2, 3], [0.5, 0.2, 0.1])]}, "K", "", mark=2)
    assert all(tick == round(tick) for tick in figure.axes[0].get_xticks())
    assert not plt.fignum_exists(figure.number)
