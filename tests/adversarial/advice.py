"""What is asked about data and methods: numbers of components, stability, new rows, error bars."""

from __future__ import annotations

from typing import Any

from matrices import Rng, in_form, sane_or_not
from oracles import answered, check_certificate, hold, relative_error, strict

from estimators import estimator, fitted
from provenmf import (
    choose_rank,
    diagnose,
    factorize,
    stability,
    with_error_bars,
)

ODD_RANKS = (None, [1, 2, 3], [2], [], [0], [-1, 2], [99], [2, 2], [1.5], "12", 3)


def diagnosis(rng: Rng, data: Any) -> None:
    k = [None, 1, 2, 50, 0][rng.integers(5)]
    strict(diagnose(data, k, methods=["spa", "cones", "hals"]).to_dict())


def rank_choice(rng: Rng, data: Any) -> None:
    ranks = [1, 2, 3] if rng.random() < 0.5 else ODD_RANKS[rng.integers(len(ODD_RANKS))]
    found = choose_rank(
        data,
        ranks,  # type: ignore[arg-type]
        loss=str(rng.choice(["auto", "poisson", "least-squares"])),
        random_state=int(rng.integers(100)),
    )
    strict(found.to_dict())
    str(found)


def stable_components(rng: Rng, data: Any) -> None:
    found = stability(estimator(rng, data.shape), data, n_resamples=3, random_state=1)
    str(found)
    hold((found.agreement <= 1 + 1e-9).all(), "components agree more than fully")


def standard_errors(rng: Rng, data: Any) -> None:
    model = fitted(estimator(rng, data.shape), data)
    if model is None:
        return
    found = with_error_bars(data, model.factorization_, int(rng.choice([2, 10, 12])))
    bars = found.error_bars
    hold(bars.standard_errors.shape == found.components.shape, "errors of another shape")
    # infinite where a component came back once at most, which says nothing about its spread
    hold((bars.standard_errors >= 0).all(), "standard errors are no lengths")


def automatic(rng: Rng, data: Any) -> None:
    found = factorize(data, [None, 1, 2, 3][rng.integers(4)], random_state=0)
    error = relative_error(data, found.weights, found.components)
    check_certificate(found.certificate, error, single=False)


KINDS = (diagnosis, rank_choice, stable_components, standard_errors, automatic)


def case(rng: Rng) -> str:
    """One question."""
    kind = KINDS[rng.integers(len(KINDS))]
    data = in_form(str(rng.choice(["dense", "csr", "unsorted", "read_only"])), sane_or_not(rng))
    return answered(kind.__name__, lambda: kind(rng, data), data)
