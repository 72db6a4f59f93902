"""The functions for topics, communities, cubes and images, and the advisor, on hard data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from matrices import HARD, Rng, draw, fingerprint, in_form
from oracles import hold, is_allowed, plain, saved_equal, strict

from provenmf import diagnose
from provenmf.applications import find_communities, find_parts, find_topics, unmix

METHODS = ("spa", "merit", "fast_anchor", "xray", "hals", "cones", "and_descent", "purification")
NETWORK_METHODS = ("spa", "merit", "fast_anchor", "fast_gradient", "geo_nmf", "spoc")
ODD_NUMBERS = (None, True, 0, -1, 1, 2, 3, 4, 50, 2.0, "3")


def topics(rng: Rng) -> tuple[Any, Any]:
    matrix = np.round(np.abs(np.nan_to_num(draw(rng), posinf=9.0, neginf=0.0)) % 50)
    data = in_form(str(rng.choice(["dense", "csr", "unsorted", "coo"])), matrix)
    return data, lambda k, seed: find_topics(
        data, k, method=str(rng.choice(METHODS)), random_state=seed
    )


def communities(rng: Rng) -> tuple[Any, Any]:
    n = int(rng.integers(1, 25))
    matrix = HARD[rng.integers(len(HARD))](rng, n, n)
    if rng.random() < 0.8:
        matrix = np.maximum(matrix, matrix.T)
    data = in_form(str(rng.choice(["dense", "csr", "unsorted", "csc"])), matrix)
    method, energy = str(rng.choice(NETWORK_METHODS)), float(rng.choice([0.5, 0.99, 1.0]))
    return data, lambda k, seed: find_communities(
        data, k, method=method, energy=energy, scale=bool(seed % 2), random_state=seed
    )


def cubes(rng: Rng) -> tuple[Any, Any]:
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    kind = HARD[rng.integers(len(HARD))]
    data = kind(rng, rows * columns, int(rng.integers(1, 9))).reshape(rows, columns, -1)
    method = str(rng.choice(METHODS))
    return data, lambda k, seed: unmix(
        data, k, method=method, group=bool(seed % 2), random_state=seed
    )


def images(rng: Rng) -> tuple[Any, Any]:
    data = HARD[rng.integers(len(HARD))](rng, int(rng.integers(1, 20)), 9)
    method = str(rng.choice(METHODS))
    return data, lambda k, seed: find_parts(data, k, method=method, shape=(3, 3), random_state=seed)


def advice(rng: Rng) -> tuple[Any, Any]:
    data = in_form(str(rng.choice(["dense", "csr", "unsorted"])), draw(rng))
    return data, lambda k, seed: diagnose(data, k, methods=["spa", "cones", "hals"])


KINDS = (topics, communities, cubes, images, advice)


def case(rng: Rng) -> str:
    """One call of one function."""
    kind = KINDS[rng.integers(len(KINDS))]
    with np.errstate(all="ignore"):
        data, call = kind(rng)
    before = fingerprint(data)
    k = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
    if kind is advice and not isinstance(k, int):
        k = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call(k, int(rng.integers(100)))
        except Exception as error:
            if not is_allowed(error):
                raise
            return f"{kind.__name__} refused"
        finally:
            hold(fingerprint(data) == before, f"{kind.__name__} changed its argument")
        check(found, kind is advice, rng)
    return f"{kind.__name__} answered"


def check(found: Any, is_advice: bool, rng: Rng) -> None:
    if is_advice:
        return
    for name in ("weights", "components"):
        hold(np.isfinite(plain(getattr(found, name))).all(), f"{name} are not finite")
    if found.factorization.certificate is not None:
        strict(found.factorization.certificate.to_dict())
    if rng.random() < 0.3:
        saved_equal(found)
