"""The catalogue of methods and their estimators."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from provenmf.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from provenmf.methods.base import Factorizer

    RandomState = int | np.random.RandomState | None


# method -> name of its estimator, which the package exports
CATALOGUE = {
    "and_descent": "AND",
    "purification": "Purification",
    "cones": "ConeNMF",
    "merit": "MERIT",
    "spa": "SPA",
    "xray": "XRAY",
    "fast_anchor": "FastAnchor",
    "fast_gradient": "FastGradient",
    "hals": "HALS",
    "anls": "ANLS",
    "poisson": "PoissonNMF",
    "min_vol": "MinVol",
}


def estimator_class(method: str) -> type[Factorizer]:
    """Return the estimator of a method by its stem ("and_descent") or its class ("AND")."""
    stems = {word.lower(): stem for stem, name in CATALOGUE.items() for word in (stem, name)}
    stem = stems.get(method.lower().replace("-", "_"))
    if stem is None:
        raise InvalidInput(
            "is not known",
            argument="method",
            value=method,
            remedy=f"choose one of {', '.join(CATALOGUE)}",
        )
    found: type[Factorizer] = getattr(import_module("provenmf"), CATALOGUE[stem])
    return found


def options_of_method(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of the method that a call names; `checked` asks for them."""
    method = str(arguments["method"])
    known = estimator_class("hals" if method.lower() == "auto" else method)().get_params()
    # The number and the seed are arguments of the function.
    return tuple(name for name in known if name not in ("n_components", "random_state"))


def methods(**wanted: object) -> tuple[str, ...]:
    """Return the methods with these traits, such as `methods(anchors=True)`; see `Traits`."""

    def has_them(stem: str) -> bool:
        traits = estimator_class(stem).traits
        return all(getattr(traits, name) == value for name, value in wanted.items())

    return tuple(stem for stem in CATALOGUE if has_them(stem))


def make_estimator(
    method: str,
    n_components: int | str | None = None,
    *,
    random_state: RandomState = None,
    **options: Any,
) -> Factorizer:
    """Return an estimator ready to fit; `random_state` is for methods that have one."""
    estimator = estimator_class(method)(n_components=n_components, **options)
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=random_state)
    return estimator
