"""The certificate of a given result, recomputed from its data; no solver runs."""

from __future__ import annotations

from typing import Any

from provenmf.errors import InvalidInput
from provenmf.estimators import CATALOGUE, estimator_class
from provenmf.estimators.provenance import current_names
from provenmf.estimators.xray import SignedXRAY
from provenmf.guarantees import any_method
from provenmf.guarantees.fit import Fit
from provenmf.records import Answer, Certificate, Factorization


def certify(X: Any, factorization: Factorization | Answer) -> Certificate:
    """Say what can be believed about a factorization of X, or about an answer found in X.

    Parameters
    ----------
    X : the matrix that was factorized, rows are data points; in memory or on disk. For an answer,
        the documents, graph, cube or images that it was found in.
    factorization : from `factorize`, an estimator, an application or a file.

    Raises
    ------
    InvalidInput : the shapes do not fit, so the result does not belong to X.
    """
    if isinstance(factorization, Answer):
        X, factorization = factorization.matrix_of(X), factorization.factorization
    if factorization.method not in CATALOGUE:
        raise InvalidInput(
            f"there is no certificate for method={factorization.method!r} of this result, only for "
            f"{', '.join(sorted(CATALOGUE))}"
        )
    estimator = estimator_of(factorization)
    blocks = estimator._blocks(X, reset=True)
    needed = (len(factorization.weights), factorization.components.shape[1])
    if blocks.shape != needed:
        raise InvalidInput(
            f"the data are {blocks.shape[0]} x {blocks.shape[1]}, but the result is of a matrix "
            f"{needed[0]} x {needed[1]}: give the data it was made from"
        )
    fit = Fit(blocks, factorization, estimator._constraint)
    return estimator._certify(fit).join(any_method.certify(fit))


def estimator_of(factorization: Factorization) -> Any:
    """The estimator with the parameters of the result, as far as they could be stored.

    Text where the default is none describes what JSON cannot hold, such as an array. XRAY may have
    seen rows with negative entries, which its certificate can speak of.
    """
    method = factorization.method
    estimator = SignedXRAY() if method == "xray" else estimator_class(method)()
    defaults = estimator.get_params()
    stored = {
        name: value
        for name, value in current_names(factorization.parameters).items()
        if name in defaults and (isinstance(defaults[name], str) or not isinstance(value, str))
    }
    return estimator.set_params(**stored)
