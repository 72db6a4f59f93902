import numpy as np
import pytest

from provenmf.report import figures


def test_numbers_keep_significant_digits_and_drop_what_is_not_finite():
    assert figures.numbers([1234.5678, 0.00012345678, np.nan, np.inf, 0.0, -2.0]) == [
        1235.0,
        pytest.approx(0.0001235),
        None,
        None,
        0.0,
        -2.0,
    ]


def test_numbers_survive_extreme_sizes():
    assert figures.numbers([1e300, 1e-300]) == pytest.approx([1e300, 1e-300])


def test_plain_text_survives_plotlys_little_html():
    assert figures.plain("<b>&") == "&lt;b&gt;&amp;"


def test_lines_use_a_log_axis_when_asked():
    figure = figures.lines([("a", np.arange(3), np.ones(3))], "x", "y", log_y=True)
    assert figure["layout"]["yaxis"]["type"] == "log"
    assert figure["layout"]["xaxis"]["type"] != "log"


def test_paper_curves_are_dotted():
    figure = figures.lines([("a", [1], [1]), ("b", [1], [2])], "x", "y", dotted=["b"])
    assert [trace["line"]["dash"] for trace in figure["data"]] == ["solid", "dot"]


def test_network_draws_each_edge_between_its_nodes():
    positions = np.array([[0.0, 0.0], [1.0, 2.0]])
    figure = figures.network(
        positions, np.array([[0, 1]]), ["a", "b"], np.array([0, 1]), positions, ["A", "B"]
    )
    assert figure["data"][0]["x"] == [0.0, 1.0, None]
    assert figure["data"][0]["y"] == [0.0, 2.0, None]
