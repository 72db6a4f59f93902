"""Errors and warnings: fields, messages, the user's line."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from provenmf import AND, HALS, MERIT, SPA, ConeNMF, FastAnchor, FastGradient, errors
from provenmf.errors import DegenerateData, InvalidInput, MissingExtra, ProvenmfError

ALIKE = np.tile([[1.0, 2.0, 1.0], [2.0, 1.0, 3.0]], (6, 1))  # two rows, six times each


def as_option(argument, value):
    return f"--{argument}" if value is None else f"--{argument} {value}"


def test_a_message_is_made_of_its_fields():
    error = InvalidInput(
        "exceeds the 3 rows",
        argument="n_components",
        value=5,
        remedy="choose {argument} <= 3, or {:group=False}",
    )
    assert (error.argument, error.value) == ("n_components", 5)
    said = "n_components=5 exceeds the 3 rows: choose n_components <= 3, or group=False"
    assert str(error) == said
    assert error.sentence(as_option) == (
        "--n_components 5 exceeds the 3 rows: choose --n_components <= 3, or --group False"
    )
    moved = pickle.loads(pickle.dumps(error.at("data.csv")))  # as between processes
    assert type(moved) is InvalidInput and str(moved) == f"data.csv: {said}" and moved.value == 5
    extra = pickle.loads(pickle.dumps(MissingExtra("A figure", "plot")))
    assert "provenmf[plot]" in str(extra)


def test_all_errors_have_one_base():
    found = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception)
        and not issubclass(kind, Warning)
        and kind is not errors.Message
    ]
    assert len(found) >= 5 and all(issubclass(kind, ProvenmfError) for kind in found)
    assert issubclass(InvalidInput, ValueError) and issubclass(MissingExtra, ImportError)


def test_a_parameter_is_named_with_its_value():
    with pytest.raises(InvalidInput, match="'n_components' parameter of SPA") as caught:
        SPA(0).fit(np.eye(3))
    assert caught.value.argument == "n_components" and caught.value.value == 0
    assert caught.value.sentence(as_option).startswith("--n_components 0 must be an int")


@pytest.mark.parametrize(
    "model",
    [
        SPA(3),
        FastAnchor(4),
        ConeNMF(3),
        MERIT(2, max_iter=1),
        FastGradient(2, max_iter=1, random_state=0),
        make_pipeline(MaxAbsScaler(), SPA(3)),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("call", ["fit", "fit_transform"])
def test_a_warning_names_the_line_of_the_user(model, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(model, call)(ALIKE)
    ours = [w for w in caught if issubclass(w.category, DegenerateData | ConvergenceWarning)]
    assert ours and {w.filename for w in ours} == {__file__}


def test_a_fit_that_ends_at_max_iter_says_so():
    data = np.random.default_rng(0).random((40, 12))
    with pytest.warns(ConvergenceWarning, match="HALS stopped at max_iter=2") as caught:
        HALS(4, max_iter=2).fit(data)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HALS(4, max_iter=2, tol=0).fit(data)  # who asks for no tolerance gets what was asked for
        AND(4, max_iter=500).fit(np.vstack([np.eye(4), 0.25 * np.ones((6, 4))]))
