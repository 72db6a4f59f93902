"""Every public name explains itself: parameters with types and defaults, results, an example."""

import ast
import doctest
import inspect
import pkgutil
import re

import pytest

import provenmf
from provenmf.errors import Message, MissingExtra, ProvenmfError
from provenmf.methods import CATALOGUE
from provenmf.methods.traits import completed

NAMES = [name for name in provenmf.__all__ if name != "__version__"]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(provenmf, name))]
ORDER = ["Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "References"]


def sections(text):
    """The titles that are underlined, in their order, and the text below each."""
    parts = re.split(r"^(\w[\w ]*)\n-+\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def described(section):
    """name -> what follows the colon, of the entries at the left margin."""
    entries = {}
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            entries |= {name.lstrip("*"): kind for name in names.split(", ")}
    return entries


@pytest.mark.parametrize("name", [*NAMES, "applications.count_words"])
def test_the_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    item = pkgutil.resolve_name(f"provenmf.{name}")
    found = doctest.DocTestParser().get_doctest(item.__doc__, {}, name, None, 0)
    assert found.examples
    report: list[str] = []
    doctest.DocTestRunner().run(found, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", NAMES)
def test_sections_are_in_their_order(name):
    found = list(sections(getattr(provenmf, name).__doc__))
    assert found == sorted(found, key=[*ORDER, "Examples"].index)


@pytest.mark.parametrize("name", CATALOGUE.values())
def test_estimators_are_described_in_full(name):
    estimator = getattr(provenmf, name)
    found = sections(estimator.__doc__)
    assert {"Parameters", "Attributes", "See Also", "References", "Examples"} <= found.keys()
    parameters = described(found["Parameters"])
    defaults = estimator().get_params()
    assert parameters.keys() == defaults.keys()
    for parameter, kind in parameters.items():
        stated = kind.rpartition("default=")[2]
        assert ast.literal_eval(stated) == defaults[parameter], parameter
    attributes = described(found["Attributes"])
    assert {"components_", "trace_", "certificate_", "factorization_"} <= attributes.keys()
    assert all(attributes.values()), "an attribute without a type"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_take_and_return(name):
    function = getattr(provenmf, name)
    found = sections(function.__doc__)
    assert found.get("Returns", "").strip()
    assert described(found["Parameters"]).keys() == inspect.signature(function).parameters.keys()


def test_a_mention_is_replaced_by_the_description():
    text = completed("""Sum.

    Parameters
    ----------
    certify, verbose
        As in every estimator. Seldom needed.
    """)
    assert described(sections(text)["Parameters"]).keys() == {"certify", "verbose"}
    assert "default=True" in text and text.count("Seldom needed.") == 1
    assert "As in every estimator" not in text


def test_base_classes_are_named_in_the_documentation():
    for kind in (ProvenmfError, MissingExtra, Message):
        assert inspect.getdoc(kind)
