"""Arguments are checked by the types that signatures declare."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import provenmf
from provenmf.arguments import Within, checked
from provenmf.errors import InvalidInput

X = np.random.default_rng(0).random((12, 5))
PARTS = provenmf.find_parts(X, 2, method="spa", shape=(1, 5), evidence=False)
GOOD: dict[str, tuple[Any, list[Any]]] = {
    "int": (int, [1, np.int8(3), -2]),
    "float": (float, [1, 1.5, np.float32(2), float("inf")]),
    "bool": (bool, [True, np.bool_(False)]),
    "text": (str, ["", "a"]),
    "choice": (Literal["a", "b"], ["a"]),
    "perhaps": (int | None, [None, 3]),
    "pair": (tuple[int, int], [(1, 2), [3, 4]]),
    "numbers": (Sequence[int], [[1, 2], (3,), range(3), np.arange(3), []]),
    "names": (Mapping[int, str], [{1: "a"}, {}]),
    "bounded": (Annotated[int, Within(1, 9)], [1, 9]),
    "function": (Callable[[int], int], [len]),
    "path": (str | Path, ["a", Path("b")]),
    "anything": (object, [None, 1, "a"]),
}
BAD: dict[str, list[Any]] = {
    "int": [True, 1.0, "1", None, float("nan"), np.timedelta64(3, "s"), 10**5000],
    "float": [True, "1", None, float("nan"), 1j, 10**400, np.timedelta64(3, "s")],
    "bool": [0, 1, "True", None],
    "text": [1, None, b"a"],
    "choice": ["c", None, ["a"]],
    "perhaps": ["a", 1.5],
    "pair": [(1,), (1, 2, 3), (1.5, 2), "ab"],
    "numbers": ["12", [1.5], 3, np.array(3), np.ones((2, 2)), {"a": 1}, iter([1])],
    "names": [{"a": 1}, ["a"], None],
    "bounded": [0, 10, 2.5],
    "function": [3, None],
    "path": [1, None],
    "anything": [],
}


class Unwritten:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


def function_of(hint: Any) -> Any:
    def function(data: object, option: Any = None) -> str:
        return "done"

    function.__annotations__["option"] = hint
    return checked()(function)


@pytest.mark.parametrize("kind", GOOD)
def test_values_of_the_declared_type_pass_and_others_are_named(kind):
    hint, values = GOOD[kind]
    function = function_of(hint)
    for value in values:
        assert function(1, option=value) == function(1, value) == "done"
    for value in BAD[kind]:
        with pytest.raises(InvalidInput, match="^option=.* must be ") as refused:
            function(1, option=value)
        assert refused.value.argument == "option"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: provenmf.factorize(X, 2, method=None), "method=None must be text"),
        (lambda: provenmf.factorize(X, 2, method="spa", l1_weights=1), "is not an option of fact"),
        (lambda: provenmf.find_topics(["a b"], k=2), "did you mean n_topics"),
        (lambda: provenmf.find_topics(["a b"], n_components=2), "did you mean n_topics"),
        (lambda: provenmf.find_topics(["a b"], min_documents="a"), "must be a whole number"),
        (lambda: provenmf.find_communities(np.eye(3), 2, scale=None), "scale=None must be"),
        (lambda: provenmf.unmix(X, 2, group="x"), "group='x' must be"),
        (lambda: provenmf.unmix(X, 2, shape="x"), "shape='x' must be (a whole number, a whole"),
        (lambda: provenmf.unmix(X.reshape(3, 4, 5), 2, true_endmembers="x"), "true_endmembers"),
        (lambda: provenmf.choose_rank(X, random_state="x"), "must be a seed"),
        (lambda: provenmf.diagnose(X, methods=3), "methods=3 must be"),
        (lambda: provenmf.SPA(2).fit(X).inverse_transform("text"), "numbers are needed"),
        (lambda: provenmf.SPA(2).fit(object()), "float() argument must be"),
        (lambda: provenmf.SPA(2).fit(X[0]), "Expected 2D array, got 1D array instead: array="),
        (lambda: provenmf.find_signatures(X, random_state="x"), "must be a seed"),
        (lambda: provenmf.certify(X, 3), "factorization=3 must be Factorization or Answer"),
        (lambda: provenmf.confirm(X, "x"), "result='x' must be Factorization or Answer"),
        (lambda: PARTS.largest("x"), "n='x' must be a whole number"),
        (lambda: PARTS.plot({}), "chart={} must be text or None"),
        (lambda: PARTS.anchor_name(2), "component=2 must be from 0 to 1"),
        (lambda: provenmf.HALS(2, tol=10**400).fit(X), "must be a number in double precision"),
        (lambda: provenmf.HALS(-(10**5000)).fit(X), "double precision. Got (int) instead"),
        (lambda: provenmf.SPA(np.timedelta64(2, "s")).fit(X), "must be a number"),
        (lambda: provenmf.SPA(2).fit([[10**400, 1], [1, 2]]), "int too large"),
        (lambda: provenmf.find_signatures([[10**400, 1], [1, 2]]), "does not hold numbers"),
        (lambda: provenmf.find_signatures(np.full((4, 3), 1e308)), "multiply it by 1e-308"),
        (lambda: provenmf.diagnose([[Decimal("sNaN"), Decimal(1)]]), "real numbers are needed"),
        (
            lambda: provenmf.find_parts(X, 2, shape=(10**5000, 3)),
            "must be (a whole number, a whole",
        ),
        (lambda: provenmf.factorize(X, 2, method=Unwritten()), "method=(Unwritten) must be text"),
        (lambda: PARTS.to_anndata(3), "data=3 is not an AnnData of shape (12, 5)"),
    ],
)
def test_odd_options_of_functions_are_refused_by_name(call, words):
    """They ended in AttributeError, TypeError, IndexError and others from inside."""
    with pytest.raises(InvalidInput) as refused:
        call()
    assert words in str(refused.value), refused.value


def test_all_public_functions_and_methods_of_results_check_their_arguments():
    functions = [getattr(provenmf, name) for name in provenmf.__all__]
    functions = [function for function in functions if inspect.isfunction(function)]
    methods = inspect.getmembers(provenmf.Topics, inspect.isfunction)
    functions += [method for name, method in methods if not name.startswith("_")]
    assert len(functions) > 30
    assert [f.__name__ for f in functions if not hasattr(f, "__wrapped__")] == []


def test_messages_are_short_and_steer_no_terminal():
    with pytest.raises(InvalidInput) as refused:
        provenmf.factorize(X, 2, method="\x1b[31m" + "y" * 9000)
    assert len(str(refused.value)) <= 520 and "\x1b" not in str(refused.value)


def test_whole_numbers_of_numpy_become_pythons():
    @checked()
    def kind_of(number: int) -> type:
        return type(number)

    assert kind_of(np.int8(3)) is kind_of(number=np.uint16(3)) is int

    @checked()
    def same(value: object) -> object:
        return value

    assert same(np.timedelta64(3, "s")) == np.timedelta64(3, "s")  # also an integer of numpy


def test_sizes_in_small_integers_of_numpy_do_not_overflow():
    wide = np.random.default_rng(0).random((4, 260))
    sides = np.uint8(130), np.uint8(2)
    assert provenmf.find_parts(wide, 1, shape=sides, evidence=False).image_shape == (130, 2)
