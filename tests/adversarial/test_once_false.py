"""Statements that were once false or too strong: each stays a case of the attack.

Five were proved statements that another computation refuted, eight said more than was known.
"""

from dataclasses import replace

import attack
import numpy as np
import pytest
import sentences

import provenmf
from provenmf.certificate.measurement import Fit
from provenmf.certificate.uniqueness import certify as uniqueness
from provenmf.data import as_blocks
from provenmf.data.door import fingerprint, row_hashes
from provenmf.datasets.corpora import topic_corpus
from provenmf.results import Factorization
from provenmf.results.states import KnownState
from provenmf.results.verdict import statements

ROWS = np.random.default_rng(0).random((30, 6))


def judged(rows, record, certificate):
    """All statements and sentences of a certificate are true."""
    tally = attack.Tally()
    attack.judge(attack.case_of(rows, record, certificate, rows), tally, "here")
    assert not tally.false and tally.checked
    return statements(certificate)


def test_the_gap_of_the_weights_allows_for_long_sums():
    rows = np.random.default_rng(0).random((2, 100_000))
    fitted = provenmf.PoissonNMF(1, max_iter=2, tol=0).fit(rows)
    gap = fitted.certificate_.bounds["weights_divergence_gap"]
    assert gap >= 1e-16 * rows.size * rows.sum()


def test_parts_that_move_a_little_are_not_called_unique_nearby():
    e = 1e-8
    weights, components = np.array([[1, e], [e, 1], [1, 1]]), np.array([[1, e], [e, 1]])
    rows = weights @ components
    record = Factorization("hals", weights, components)
    said = judged(rows, record, uniqueness(Fit(as_blocks(rows), record)))
    assert not any("unique" in text for text in said)


def test_entries_cannot_be_traded_between_places():
    first, second = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
    shift = second * pow(first, -1, 2**64) % 2**64
    bits, traded = np.zeros((2, 1, 4), dtype=np.uint64)
    bits[0, 1] = 0x3FF0000000000000
    traded[0, 2] = (int(bits[0, 1]) - shift) % 2**64
    one, other = (
        fingerprint((1, 4), float, row_hashes(b.view(np.float64))) for b in (bits, traded)
    )
    assert one != other


@pytest.mark.parametrize("known", [1, 3])
def test_what_a_file_says_of_given_components_is_not_believed(known):
    fitted = provenmf.HALS(3, random_state=0).fit(ROWS).factorization_
    moved = replace(fitted, components=fitted.components * [[1], [3], [0.5]])
    honest = provenmf.certify(ROWS, moved).measures["components_optimality_residual"]
    forged = provenmf.certify(ROWS, replace(moved, state=KnownState(known)))
    assert forged.measures["components_optimality_residual"] == honest > 0.01
    check = next(c for c in forged.checks if c.name == "first-order conditions")
    assert f"{known} components were given" in check.note


def test_components_of_unequal_length_are_not_called_dependent():
    components = np.array([[1.0, 0.0, 0.0], [0.0, 1e-9, 0.0], [0.0, 0.0, 1e-9]])
    rows = np.abs(np.random.default_rng(0).dirichlet(np.ones(3), 20) @ components)
    record = Factorization("spa", np.full((20, 3), 1 / 3), components)
    record = replace(record, parameters={"constraint": "simplex"})
    said = " ".join(statements(provenmf.certify(rows, record)))
    assert "components are combinations" not in said


def test_rows_without_weights_belong_to_the_typical_row():
    rows = np.vstack([np.eye(2, 4)] * 3 + [np.eye(4)[2:]] * 5)
    record = provenmf.SPA(2).fit(rows).factorization_
    record = replace(record, components=np.eye(2, 4), weights=rows[:, :2].copy())
    said = " ".join(statements(provenmf.certify(rows, record)))
    assert "are stable" not in said


def test_weights_of_zero_may_be_the_best_ones():
    """They were said not to be, where most rows share no column with any component."""
    rows = np.vstack([np.eye(2, 4)] * 3 + [np.eye(4)[2:]] * 5)
    record = provenmf.SPA(2).fit(rows[:6]).factorization_
    weights = np.vstack([record.weights, np.zeros((10, 2))])
    record = replace(record, weights=weights, anchors=None, method="hals")
    said = judged(rows, record, provenmf.certify(rows, record))
    assert any("zero or not the best ones" in text for text in said)


def test_weights_times_a_million_are_not_called_stable():
    record = provenmf.SPA(2).fit(ROWS).factorization_
    record = replace(record, weights=record.weights * 1e6)
    said = judged(ROWS, record, provenmf.certify(ROWS, record))
    assert not any("are stable" in text for text in said)


def test_sixty_six_per_cent_is_not_stable():
    components = np.array([[1.0, 0.0], [1.0, 0.02]])
    rows = np.random.default_rng(0).random((20, 2)) @ components
    record = replace(provenmf.SPA(2).fit(rows).factorization_, components=components)
    weights = np.linalg.solve(components.T, rows.T).T
    record = replace(record, weights=weights, method="hals")
    certificate = provenmf.certify(rows, record)
    check = next(c for c in certificate.checks if c.name == "weights move less than rows")
    assert check.value > 10 and check.status == "unknown"


def test_the_units_of_scaled_rows_are_named():
    rows = 100 * ROWS + 200 * np.tile(np.eye(6)[:3], (10, 1))
    fitted = provenmf.XRAY(3).fit(rows)
    said = judged(rows, fitted.factorization_, fitted.certificate_)
    assert any("divided by its sum" in text for text in said)
    for text in said:
        for part in sentences.split(text):
            assert "unexplained" not in part or "row divided by its sum unexplained" in part


@pytest.mark.parametrize("k", [1, 2])
def test_what_is_proved_about_the_parts_is_not_denied(k):
    rows = np.vstack([np.eye(2, 4), np.full((3, 4), 0.5)]) if k == 2 else np.ones((5, 4))
    fitted = provenmf.HALS(k, random_state=0).fit(rows)
    said = judged(rows, fitted.factorization_, fitted.certificate_)
    if fitted.certificate_.bounds.get("unique_components"):
        assert "Nothing is proved about the components themselves on this data." not in said


def test_the_tolerance_of_xray_is_part_of_its_name():
    names = [check.name for check in provenmf.XRAY(2).fit(ROWS).certificate_.checks]
    assert "rows within 1e-7 of the anchors' cone" in names


def test_unique_nearby_is_about_the_product():
    """Two triangles in a hexagon are two sets of parts of one product; each is alone nearby."""
    angles = np.arange(6) * np.pi / 3
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    normals = np.column_stack([np.cos(angles + np.pi / 6), np.sin(angles + np.pi / 6)])
    system = np.vstack([corners[::2].T, np.ones(3)])
    weights = np.linalg.solve(system, np.vstack([normals.T / np.sqrt(3), np.ones(6)])).T
    components = np.cos(np.pi / 6) - corners[::2] @ normals.T
    for factor in (weights, components):
        factor[np.abs(factor) < 1e-9] = 0
    rows = weights @ components
    record = Factorization("hals", weights, components)
    said = judged(rows, record, uniqueness(Fit(as_blocks(rows), record)))
    assert any("unique nearby" in text for text in said)
    assert all("another product may fit" in text for text in said if "unique nearby" in text)
    assert not any("no other 3" in text for text in said)


def test_merged_topics_have_components_that_are_not_the_best():
    """Components that were merged or left over are judged like any others."""
    counts = topic_corpus(150, 60, 3, random_state=0).counts
    found = provenmf.find_topics(counts, 3, method="hals", evidence=False)
    edited = found.merge([1, 2])
    residual = provenmf.certify(counts, edited).measures["components_optimality_residual"]
    assert residual > found.certificate.measures["components_optimality_residual"]
