"""The functions for topics, communities, cubes and images on hard data, and what follows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matrices import Rng, in_form, sane_or_not
from oracles import answered, hold, plain, saved_equal, strict

from provenmf.applications import find_communities, find_parts, find_topics, unmix

METHODS = ("spa", "merit", "fast_anchor", "xray", "hals", "cones", "and_descent", "purification")
NETWORK_METHODS = ("spa", "merit", "fast_anchor", "fast_gradient")
ODD_NAMES = ("a", "Topic 2", "", "\x00", "<script>", "ä{b}, c\n=d", "x" * 3000, "\ud800", "&")
ODD_NUMBERS = (None, True, 0, -1, 50, 2.0, "3")


def topics(rng: Rng) -> tuple[Any, Any]:
    matrix = np.round(np.abs(np.nan_to_num(sane_or_not(rng), posinf=9.0, neginf=0.0)) % 50)
    data = in_form(str(rng.choice(["dense", "csr", "unsorted", "coo"])), matrix)
    method, resamples = str(rng.choice(METHODS)), int(rng.choice([0, 0, 0, 1, 10]))
    return data, lambda k, seed: find_topics(
        data, k, method=method, n_resamples=resamples, random_state=seed
    )


def communities(rng: Rng) -> tuple[Any, Any]:
    n = int(rng.integers(1, 25))
    matrix = sane_or_not(rng, n_rows=n, n_columns=n)
    if rng.random() < 0.8:
        matrix = np.maximum(matrix, matrix.T)
    data = in_form(str(rng.choice(["dense", "csr", "unsorted", "csc"])), matrix)
    method, refine = str(rng.choice(NETWORK_METHODS)), bool(rng.random() < 0.5)
    return data, lambda k, seed: find_communities(
        data, k, method=method, refine=refine, scale=bool(seed % 2), random_state=seed
    )


def cubes(rng: Rng) -> tuple[Any, Any]:
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    data = sane_or_not(rng, n_rows=rows * columns, n_columns=int(rng.integers(1, 9)))
    data = data.reshape(rows, columns, -1)
    method, resamples = str(rng.choice(METHODS)), int(rng.choice([0, 0, 0, 1, 10]))
    return data, lambda k, seed: unmix(
        data, k, method=method, group=bool(seed % 2), n_resamples=resamples, random_state=seed
    )


def images(rng: Rng) -> tuple[Any, Any]:
    data = sane_or_not(rng, n_rows=int(rng.integers(1, 20)), n_columns=9)
    method = str(rng.choice(METHODS))
    return data, lambda k, seed: find_parts(data, k, method=method, shape=(3, 3), random_state=seed)


KINDS = (topics, communities, cubes, images)


def case(rng: Rng) -> str:
    """One call of one function."""
    kind = KINDS[rng.integers(len(KINDS))]
    with np.errstate(all="ignore"):
        data, call = kind(rng)
    odd = rng.random() < 0.3
    k = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))] if odd else int(rng.integers(1, 5))
    seed = int(rng.integers(100))
    return answered(kind.__name__, lambda: check(call(k, seed), rng), data)


def check(found: Any, rng: Rng) -> None:
    """What must hold of every answer, and one thing that can be done with it."""
    for name in ("weights", "components"):
        hold(np.isfinite(plain(getattr(found, name))).all(), f"{name} are not finite")
    if found.factorization.certificate is not None:
        strict(found.factorization.certificate.to_dict())
    FOLLOWING[rng.integers(len(FOLLOWING))](found, rng)


def save_it(found: Any, rng: Rng) -> None:
    saved_equal(found)


def name_it(found: Any, rng: Rng) -> None:
    named = found.labelled({1: ODD_NAMES[rng.integers(len(ODD_NAMES))]})
    saved_equal(named)
    export_it(named, rng)


def export_it(found: Any, rng: Rng) -> None:
    for table in found.tables().values():
        table.to_csv()
    hold(found.to_xarray().sizes, "nothing is in the Dataset")
    hold(found.to_anndata().shape[0] == len(found.weights), "rows are lost in the AnnData")
    if hasattr(found, "maps"):
        hold(found.maps().shape[1:] == found.image_shape, "maps of another size")


def edit_it(found: Any, rng: Rng) -> None:
    if not hasattr(found, "reduced_to"):
        return
    numbers = rng.integers(0, found.n_components + 2, size=int(rng.integers(0, 4))).tolist()
    edited = found.merge(numbers) if rng.integers(2) else found.reduced_to(len(numbers))
    hold(edited.weights.shape[0] == found.weights.shape[0], "documents are lost")
    saved_equal(edited)


FOLLOWING = (save_it, name_it, export_it, edit_it)
