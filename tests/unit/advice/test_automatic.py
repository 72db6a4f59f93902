"""Automatic choices: a good fit by default, announced with the reason; doubt is not hidden."""

import numpy as np
import pytest
from sklearn.decomposition import NMF

from provenmf import factorize
from provenmf.advice.number import spectrum_of
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.results.verdict import statements


def separable(k=3, noise=0.0):
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), 40)])
    return weights @ rng.random((k, 9)) + noise * rng.random((40 + k, 9))


def relative_error(X, found):
    return np.linalg.norm(X - found.weights @ found.components) / np.linalg.norm(X)


def test_the_default_fits_no_worse_than_nmf():
    X = np.random.default_rng(1).gamma(0.5, size=(50, 15))
    found = factorize(X, 4, random_state=0)
    peer = NMF(4, init="nndsvda", max_iter=500, random_state=0, tol=1e-6)
    weights = peer.fit_transform(X)
    error = np.linalg.norm(X - weights @ peer.components_) / np.linalg.norm(X)
    assert found.method == "hals"
    assert relative_error(X, found) <= error * 1.001
    assert "Method chosen automatically: HALS" in found.notes[0]


def test_a_method_whose_theory_holds_is_taken_and_says_so():
    found = factorize(separable(), 3, random_state=0)
    assert found.method == "spa" and sorted(found.anchors) == [0, 1, 2]
    assert "all conditions of its theory hold" in found.notes[0]


def test_without_a_certificate_nothing_else_is_tried():
    assert factorize(separable(), 3, certify=False, random_state=0).method == "hals"


def test_an_option_of_another_method_is_refused():
    with pytest.raises(InvalidInput, match="variant='rand' is not an option of factorize"):
        factorize(separable(), 3, variant="rand")


@pytest.mark.parametrize("method", ["auto", "spa"])
def test_a_number_that_the_data_settle_is_announced(method):
    found = factorize(separable(noise=1e-4), method=method, random_state=0)
    assert found.n_components == 3
    assert "Number of components chosen automatically: 3" in found.notes[0]
    assert "times what noise would give" in found.notes[0]


@pytest.mark.parametrize("shape", [(38, 60), (200, 30)])
def test_an_unclear_number_is_refused_with_what_to_do(shape):
    X = np.random.default_rng(0).random(shape)
    with pytest.raises(InvalidInput, match="do not determine .* give n_components, perhaps"):
        factorize(X)


def test_counts_are_fitted_by_likelihood_and_the_note_says_why():
    rng = np.random.default_rng(3)
    X = rng.poisson(5 * rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.5, size=(3, 25)))
    found = factorize(X, 3, random_state=0)
    assert found.method == "poisson" and "the entries are counts" in found.notes[0]
    assert found.certificate.measures["deviance_explained"] > 0.5
    assert factorize(X, 3, init="spa", random_state=0).method == "hals"
    assert factorize(X + 0.5, 3, random_state=0).method == "hals"


def test_the_best_of_three_starts_is_kept():
    rng = np.random.default_rng(3)
    X = rng.poisson(3.0 * (rng.random((60, 9)) < 0.3) @ rng.random((9, 25))) * 1.1
    found = factorize(X, 9, random_state=0)
    errors = {
        init: relative_error(X, factorize(X, 9, method="hals", init=init, random_state=0))
        for init in ("cones", "nndsvda", "spa")
    }
    assert min(errors.values()) < errors["cones"] * 0.999  # else the example shows nothing
    assert relative_error(X, found) == pytest.approx(min(errors.values()))
    assert found.certificate is not None and found.fingerprint
    given = factorize(X, 9, init="cones", random_state=0)
    assert relative_error(X, given) == pytest.approx(errors["cones"])


def test_another_start_that_fits_as_well_with_other_parts_is_exhibited():
    """Such data do not fix their parts, even where these are unique for their product."""
    said = factorize(np.random.default_rng(0).random((60, 20)), 5, random_state=0)
    assert "of another fit" in next(
        c.note for c in said.certificate.checks if c.name == "other fits have these parts"
    )
    assert "the data alone do not fix it" in said.certificate.verdict
    clear = np.eye(3, 9)[np.arange(60) % 3] + 0.05 * np.random.default_rng(0).random((60, 9))
    assert "of one of every other fit" in " ".join(statements(factorize(clear, 3).certificate))


def test_weak_components_are_counted():
    """Two strong materials, each with spectra that vary."""
    rng = np.random.default_rng(0)
    corners = np.array([[1.0, 0.0], [0.0, 1.0]]).repeat(10, axis=0)
    weights = np.vstack([corners, rng.dirichlet(np.ones(2), 80)])
    strong = weights @ rng.random((2, 30))
    weak = 0.03 * rng.random((100, 2)) @ rng.random((2, 30))
    noise = 0.01 * rng.random((100, 30))
    numbers = [spectrum_of(as_blocks(X)) for X in (strong + noise, strong + weak + noise)]
    assert [(found.above, found.is_clear) for found in numbers] == [(2, True), (4, True)]


def test_counts_are_settled():
    rng = np.random.default_rng([1, 1, 1003])  # a case of benchmarks/recovery/automatic_number.py
    k = int(rng.integers(2, 8))
    mean = rng.gamma(0.5, size=(150, k)) @ rng.gamma(0.5, size=(k, 40))
    X = rng.poisson(mean / mean.mean() / 0.003**2).astype(float)
    assert factorize(X, certify=False).n_components == k
