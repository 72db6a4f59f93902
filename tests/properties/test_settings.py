"""What half and twice a tuned number do to the answer on data whose truth is known.

Every algorithm keeps its tuned numbers in one `Settings` object. With any one of them changed, the
error on clear data stays below a limit.
"""

import sys
from dataclasses import fields, replace
from importlib import import_module

import numpy as np
import pytest

from provenmf import (
    AND,
    HALS,
    MERIT,
    SPA,
    MinVol,
    PoissonNMF,
    choose_rank,
    confirm,
    diagnose,
    factorize,
    find_communities,
    find_signatures,
    find_topics,
    unmix,
)
from provenmf.datasets.and_descent import sample_dirichlet, start_nearby, topic_components
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.datasets.networks import mixed_membership_network
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.unseen_rows import dependence_of_rows
from provenmf.metrics.recovery import total_correlation_error, unit_distances

RNG = np.random.default_rng(5)
PURITIES, MIXERS = RNG.dirichlet(np.full(3, 0.3), 150), RNG.random((3, 20))
MIXED = PURITIES @ MIXERS + 0.01 * RNG.random((150, 20))
SIGNATURES = RNG.dirichlet(np.full(40, 0.15), 3)
TUMORS = RNG.poisson(2000 * RNG.dirichlet(np.full(3, 0.5), 60) @ SIGNATURES)
EXACT = dirichlet_mixtures(40, 12, 4, random_state=5)
ANCHORED = dirichlet_mixtures(30, 20, 4, snr=25, random_state=0)
CAPPED = RNG.dirichlet(np.full(3, 0.7), 400)
CAPPED = CAPPED[CAPPED.max(axis=1) < 0.85]
PROFILES = RNG.random((3, 15))
CORPUS = topic_corpus(1200, 300, 4, random_state=0)
CUBE = mixed_cube(20, 20, 30, 3, snr=35.0, random_state=0)
NETWORK = mixed_membership_network(100, 3, random_state=0)
FEATURES = topic_components(10, 60, random_state=0)
SPARSE = sample_dirichlet(600, FEATURES, random_state=0)


def error_of_and():
    start = start_nearby(FEATURES, random_state=0)
    fit = AND(10, init=start, certify=False, random_state=0).fit(SPARSE.data)
    return total_correlation_error(fit.components_, FEATURES)


def error_of_communities():
    found = find_communities(NETWORK.adjacency, 3, evidence=False)
    return unit_distances(found.memberships.T, NETWORK.memberships.T).max()


def error_of_topics():
    found = find_topics(CORPUS.counts, 4, evidence=False)
    return unit_distances(found.topics, CORPUS.topics[:, found.word_columns]).max()


def unconfirmed():
    fit = confirm(MIXED, factorize(MIXED, 3, random_state=0))
    return float(3 - fit.certificate.evidence.judgements.count("confirmed"))


def wrong_number(found):
    return float(found != 3)


def error_of_vertices():
    """The error of averaged vertices as a share of that of the anchors."""
    plain, averaged = (
        SPA(3, vertices=v, certify=False).fit(MIXED).components_ for v in (False, True)
    )
    return unit_distances(averaged, MIXERS).max() / unit_distances(plain, MIXERS).max()


def error_of_counts():
    fit = PoissonNMF(3, n_init=3, certify=False, random_state=0).fit(TUMORS)
    return unit_distances(fit.components_, SIGNATURES).max()


def error_of_a_sampled_start():
    fit = HALS(3, certify=False, random_state=0).fit(np.repeat(MIXED, 20, axis=0))
    return fit.reconstruction_err_ / np.linalg.norm(np.repeat(MIXED, 20, axis=0))


def unproved_anchors():
    checks = SPA(4, certify="full").fit(EXACT.data).certificate_.checks
    return float(next(c for c in checks if "survive" in c.name).status != "holds")


def misjudged_dependence():
    """Rows drawn one by one are not doubted, those of a walk are."""
    walk = np.cumsum(np.random.default_rng(2).standard_normal((150, 20)), axis=0)
    doubted = []
    for rows in (MIXED, walk - walk.min()):
        fit = HALS(3, random_state=0, certify=False, max_iter=40).fit(rows).factorization_
        doubted.append(bool(dependence_of_rows(rows, fit, np.arange(150))[1]))
    return float(doubted != [False, True])


CASES = {
    "certificate.judging": (unconfirmed, 0.0),
    "methods.and_descent.adaptive": (error_of_and, 1e-6),
    "methods.merit.settings": (
        lambda: float(
            not np.array_equal(
                np.sort(MERIT(certify=False).fit(ANCHORED.data).anchors_), np.sort(ANCHORED.anchors)
            )
        ),
        0.0,
    ),
    "methods.separable.vertices": (error_of_vertices, 1.0),
    "methods.separable.margins": (unproved_anchors, 0.0),
    "methods.unseen_rows": (misjudged_dependence, 0.0),
    "methods.poisson.solver": (error_of_counts, 0.06),
    "methods.alternating.starts": (error_of_a_sampled_start, 0.01),
    "methods.min_vol.solver": (
        lambda: unit_distances(
            MinVol(3, certify=False, random_state=0).fit(CAPPED @ PROFILES).components_, PROFILES
        ).max(),
        0.05,
    ),
    "advice.choose_rank": (lambda: wrong_number(choose_rank(MIXED, range(1, 6)).n_components), 0.0),
    "advice.number": (lambda: wrong_number(choose_rank(MIXED, range(1, 6)).n_components), 0.0),
    "advice.diagnose": (lambda: wrong_number(diagnose(MIXED).n_components), 0.0),
    "advice.automatic": (
        lambda: (
            factorize(MIXED, 3, random_state=0).certificate.measures["relative_error"]
            / HALS(3, random_state=0).fit(MIXED).certificate_.measures["relative_error"]
        ),
        1.01,
    ),
    "applications.topics.groups": (
        error_of_topics,
        0.3,
    ),
    "applications.unmixing.choice": (
        lambda: unit_distances(
            unmix(CUBE.cube, 3, evidence=False).endmembers, CUBE.endmembers
        ).max(),
        0.03,
    ),
    "applications.communities.likelihood": (error_of_communities, 0.4),
    "applications.signatures.model": (
        lambda: unit_distances(
            find_signatures(TUMORS, evidence=False).signatures, SIGNATURES
        ).max(),
        0.05,
    ),
}
CHANGES = [
    (module, field.name, factor)
    for module in CASES
    for field in fields(import_module(f"provenmf.{module}").SETTINGS)
    if isinstance(field.default, int | float)
    for factor in (0.5, 2)
]


@pytest.mark.parametrize(("module", "name", "factor"), CHANGES)
def test_half_and_twice_a_setting(module, name, factor, monkeypatch):
    before = import_module(f"provenmf.{module}").SETTINGS
    value = getattr(before, name)
    # A share stays one.
    changed = min(factor * value, 1.0) if isinstance(value, float) and value < 1 else factor * value
    after = replace(before, **{name: type(value)(changed)})
    for user in [m for known, m in sys.modules.items() if known.startswith("provenmf")]:
        for own in [own for own, content in vars(user).items() if content is before]:
            monkeypatch.setattr(user, own, after)
    error, limit = CASES[module]
    found = error()
    assert found <= limit, found
