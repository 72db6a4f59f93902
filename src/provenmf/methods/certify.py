"""The certificate of a given result, recomputed from its data; no solver runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.arguments import checked
from provenmf.certificate import uniqueness
from provenmf.certificate.measurement import Fit
from provenmf.data.door import same_values
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE, estimator_class
from provenmf.methods.separable.xray import SignedXRAY
from provenmf.results import Answer, Certificate, Check, Factorization, Trace


@checked()
def certify(
    X: Any, factorization: Factorization | Answer, *, others: Sequence[Factorization] = ()
) -> Certificate:
    """Return the certificate of a factorization of X, or of an answer found in X.

    Everything is computed from X and the two factors. The rest of the record says what was asked
    for (method, parameters, which rows are anchors, which cluster a row is in) and is not
    believed: anchors are compared with the rows, and every row counts, whatever its label. The
    trace of the run and its own certificate are not looked at.

    Parameters
    ----------
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        The matrix that was factorized; rows are data points. For an answer, the documents, graph,
        cube or images that it was found in.
    factorization : Factorization or Answer
        From `factorize`, an estimator, an application or a file.
    others : sequence of Factorization, default=()
        Other fits of the same matrix with as many components, for example from other random seeds.
        The certificate says how far their parts are from these where they fit nearly as well.

    Returns
    -------
    Certificate
        Its verdict names data that are not those of the fit.

    Raises
    ------
    InvalidInput
        The shapes do not fit, so that the result does not belong to X, or the factors are no
        matrices of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import factorize
    >>> from provenmf.methods.certify import certify
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> certify(X, factorize(X, 2, method="spa")).checks[-1].name
    'data that the result names'
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
    _check_factors(factorization, blocks.shape)
    bare = replace(factorization, trace=Trace(), certificate=None)
    fit = estimator._measured(blocks, bare, full=True)
    recognized = _same_data(fit, factorization.fingerprint)
    certificate: Certificate = estimator._statements(fit).join(recognized)
    if len(others) == 0:
        return certificate
    for other in others:
        _check_factors(other, blocks.shape)
        if other.n_components != factorization.n_components:
            raise InvalidInput(
                f"others has a fit of {other.n_components} components, the result has "
                f"{factorization.n_components}: compare fits with as many"
            )
    return certificate.join(
        uniqueness.compare(
            fit, [Fit(blocks, other, products=False, hashed=False) for other in others]
        )
    )


def _check_factors(factorization: Factorization, shape: tuple[int, int]) -> None:
    """Raise an error if the factors do not fit data of this shape."""
    for name in ("weights", "components"):
        factor = getattr(factorization, name)
        if factor.ndim != 2 or factor.dtype.kind != "f" or not np.isfinite(factor).all():
            raise InvalidInput(
                f"the {name} of the result are no matrix of finite numbers: the file is damaged"
            )
    weights, components = factorization.weights, factorization.components
    if shape != (len(weights), components.shape[1]):
        raise InvalidInput(
            f"the data are {shape[0]} x {shape[1]}, but the result is of a matrix "
            f"{len(weights)} x {components.shape[1]}: give the data it was made from"
        )
    if weights.shape[1] != len(components) or len(components) == 0:
        raise InvalidInput(
            f"the result has {weights.shape[1]} columns of weights for {len(components)} "
            "components: the file is damaged"
        )


def _same_data(fit: Fit, stored: str) -> Certificate:
    """Compare the fingerprint of the data with that in the result, which anyone can edit."""
    name, theorem = "data that the result names", "fingerprint"
    if not stored:
        note = "the result holds no fingerprint of its data"
        return Certificate(fit.method, (Check(name, theorem, "unknown", note=note),))
    if same_values(stored, fit.fingerprint):
        return Certificate(fit.method, (Check(name, theorem, "holds"),))
    words = (
        "These data are not, digit for digit, those that the result names as its own; all that is "
        "said here is about these."
    )
    return Certificate(fit.method, (Check(name, theorem, "fails", in_words=words),))


def estimator_of(factorization: Factorization) -> Any:
    """Return the estimator with the parameters of the result, as far as they could be stored.

    Text where the default is none describes what JSON cannot hold, such as an array. XRAY may have
    seen rows with negative entries, which its certificate can speak of.
    """
    method = factorization.method
    estimator = SignedXRAY() if method == "xray" else estimator_class(method)()
    defaults = estimator.get_params()
    stored = {
        name: value
        for name, value in factorization.parameters.items()
        if name in defaults and (isinstance(defaults[name], str) or not isinstance(value, str))
    }
    return estimator.set_params(**stored)


def weights_of(X: object, factorization: Factorization) -> NDArray[Any]:
    """Return weights (n, k) of the rows of X by the method that made the factorization."""
    estimator = estimator_of(factorization)
    blocks = estimator._blocks(X, reset=True)
    columns = factorization.components.shape[1]
    if blocks.shape[1] != columns:
        raise InvalidInput(
            f"the new rows have {blocks.shape[1]} columns, those of the result {columns}"
        )
    weights: NDArray[Any] = estimator._encode(blocks, factorization.components)
    return weights
