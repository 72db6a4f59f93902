"""Every public name explains itself: parameters, attributes and an example that runs."""

import doctest
import inspect

import pytest

import provenmf
from provenmf.estimators import CATALOGUE

NAMES = [name for name in provenmf.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "load"])
def test_the_example_runs(name):
    item = getattr(provenmf, name)
    found = doctest.DocTestParser().get_doctest(item.__doc__, {}, name, None, 0)
    assert found.examples
    report: list[str] = []
    doctest.DocTestRunner().run(found, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", CATALOGUE.values())
def test_every_parameter_is_described(name):
    estimator = getattr(provenmf, name)
    text = inspect.getdoc(estimator)
    described = text[text.index("Parameters\n") : text.index("Attributes\n")]
    for parameter in estimator().get_params():
        assert any(
            parameter in line.split(" : ")[0].replace(",", " ").split()
            for line in described.splitlines()
            if not line.startswith(" ")
        ), parameter
