"""AND as users call it: parameters reach the solver, bad input is named, streams work."""

import numpy as np
import pytest

from provenmf import AND
from provenmf.datasets.and_descent import sample_dirichlet, start_nearby, topic_components
from provenmf.metrics.recovery import total_squared_correlation_error

TOPICS = topic_components(6, 30, random_state=0)
SAMPLE = sample_dirichlet(400, TOPICS, random_state=1)
START = start_nearby(TOPICS, random_state=2)


def error(model):
    return total_squared_correlation_error(model.components_, TOPICS)


def test_default_recovers_topics_from_anchors():
    data = SAMPLE.data.copy()
    data[5] = 0.0
    model = AND(6).fit(data)
    assert error(model) < 1e-12 and not model.transform(data)[5].any()
    assert model.factorization_.stop_reason == "converged"
    assert model.reconstruction_err_ < 1e-8


@pytest.mark.filterwarnings("error:overflow")
def test_a_row_of_tiny_numbers_counts_as_much_as_any_other():
    data = SAMPLE.data.copy()
    data[5] *= 1e-306
    one, other = AND(6).fit(data).components_, AND(6).fit(SAMPLE.data).components_
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 31}, "n_components=31 exceeds 30"),
        ({"n_components": 6, "init": np.ones((3, 30))}, "shape"),
        ({"n_components": 6, "init": np.ones((6, 30))}, "linearly dependent"),
        ({"n_components": 6, "init": np.zeros((6, 30))}, "zero row"),
        ({"n_components": 6, "init": np.full((6, 30), np.nan)}, "NaN"),
        ({"n_components": 6, "init": np.full((6, 30), "a")}, "init"),
        ({"n_components": 6, "decay": 0.9}, "decay"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        AND(**options).fit(SAMPLE.data)
