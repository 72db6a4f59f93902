"""Charts and pictures as plain data, and charts as figures of matplotlib."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest

import provenmf
from provenmf.errors import InvalidInput
from provenmf.report import figures
from provenmf.report.figures import data_uri, grey_levels
from provenmf.report.plots import charts, stacked
from provenmf.results import as_answer


def test_numbers_keep_significant_digits_and_drop_what_is_not_finite():
    values = np.array([[1234.5678, 0.00012345678, np.nan, np.inf], [0.0, -2.0, 1e300, 1e-300]])
    expected = [[1235.0, 0.0001235, None, None], [0.0, -2.0, 1e300, 1e-300]]
    assert figures.numbers(values) == expected


def test_curves_at_the_same_places_share_them():
    places = np.arange(3)
    curves = [("a", places, np.ones(3)), ("b", places, 2 * np.ones(3)), ("c", [0, 9], [1, 2])]
    spec = figures.Lines(curves, "x", "y", dotted=["b"]).spec()
    assert spec["places"] == [[0, 1, 2], [0, 9]]
    assert [curve["x"] for curve in spec["curves"]] == [0, 0, 1]
    assert [curve["dotted"] for curve in spec["curves"]] == [False, True, False]


def test_levels_give_the_values_back():
    values = np.array([[0.0, 0.25, 1.0], [np.nan, 0.123456, 2.0]])
    stored = np.frombuffer(base64.b64decode(figures.levels(values, 1.0)), "<u2")
    assert stored[3] == 2**16 - 1  # missing
    found = np.delete(stored, 3) / (2**16 - 2)
    np.testing.assert_allclose(found, [0, 0.25, 1, 0.123456, 1.0], atol=1e-5)


PIL = pytest.importorskip("PIL.Image", reason="Pillow decodes the pictures")


def test_picture_decodes_to_its_grey_levels():
    image = np.arange(12.0).reshape(3, 4)
    content = base64.b64decode(data_uri(image).split(",")[1])
    decoded = np.asarray(PIL.open(io.BytesIO(content)))
    np.testing.assert_array_equal(decoded, grey_levels(image))
    assert decoded.shape == (3, 4)


def test_constant_and_negative_images():
    assert grey_levels(np.zeros((2, 2))).max() == 0
    levels = grey_levels(np.array([[-1.0, 0.0, 1.0]]))
    assert levels.tolist() == [[0, 0, 255]]


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


@pytest.mark.parametrize(
    ("names", "drawn"),
    [
        (None, figures.Lines),
        ([f"{400 + 10 * i}" for i in range(50)], figures.Lines),
        ([f"A[C>A]{i}" for i in range(50)], figures.Columns),
    ],
)
def test_entries_are_drawn_over_numbers_and_as_bars_over_names(names, drawn):
    """Names used to be joined by a curve over the numbers of the columns."""
    rng = np.random.default_rng(0)
    result = provenmf.factorize(rng.random((30, 50)), 2, method="spa")
    names = None if names is None else np.array(names)
    times = np.array([f"{0.5 * i}" for i in range(30)])
    found = charts(as_answer(replace(result, column_names=names, row_names=times)))
    entries = found["Components, entry by entry"][0][1]
    assert isinstance(entries, drawn)
    if names is not None and drawn is figures.Lines:
        assert list(entries.series[0][1]) == [float(name) for name in names]
    weights = found["Weights, row by row"][0][1]
    assert list(weights.series[0][1]) == [0.5 * i for i in range(30)]
    assert "Weights, row by row" not in charts(as_answer(result))


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
