"""A short attack on every statement of every certificate; attack.py is the long one."""

import ast
from dataclasses import replace
from pathlib import Path

import attack
import large
import numpy as np
import pytest
import sentences
import statements

import provenmf

SOURCE = Path(provenmf.__file__).parent
GUARANTEES = [*SOURCE.glob("certificate/*.py"), *SOURCE.glob("methods/*/*.py")]
KINDS = ("bounds", "measures")


@pytest.mark.parametrize("first", range(0, 66, 22))
def test_nothing_false_on_hostile_data_and_forged_records(first):
    tally = attack.attack(22, first=first)
    assert not tally.false
    assert not tally.crashes
    assert tally.checked > 3000


def test_distances_to_corners_do_not_rest_on_rounding():
    """Rows equal to an anchor have residuals of rounding; corners were said to be that near."""
    tally = attack.attack(1, first=9000126)  # MERIT on one-hot rows
    assert tally.checked > 100 and not tally.false and not tally.crashes


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e6])
def test_statements_about_signatures_of_overdispersed_counts(scale):
    rng = np.random.default_rng(0)
    means = rng.gamma(0.5, 300, (60, 3)) @ rng.dirichlet([0.3] * 20, 3)
    counts = rng.poisson(means * rng.gamma(4, 0.25, means.shape)) * scale
    record = provenmf.find_signatures(counts, 3, evidence=False).factorization
    record = replace(record, parameters={"overdispersion": 0.25 / scale})
    certificate, tally = provenmf.certify(counts, record), attack.Tally()
    assert "negative_binomial_deviance_explained" in certificate.measures
    attack.judge(attack.case_of(counts, record, certificate, counts), tally, "signatures")
    assert tally.checked > 5 and not tally.false


def written_names():
    """Names of statements that are written out in the source: of checks, of bounds and measures."""
    checks, numbers = set(), set()
    for path in sorted(GUARANTEES):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check" and node.args:
                checks |= texts(node.args[0])
            if isinstance(node, ast.keyword) and node.arg in KINDS:
                numbers |= keys(node.value)
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in KINDS:
                numbers |= keys(node.value)
            if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") in KINDS:
                numbers |= keys(node.value)
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in KINDS:
                numbers |= texts(node.slice)
    return checks, numbers


def keys(node):
    return {text for key in getattr(node, "keys", []) if key for text in texts(key)}


def texts(node):
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def test_every_statement_is_registered():
    """Add a checker to statements.py for what a new guarantee says."""
    checks, numbers = written_names()
    assert len(checks) > 10 and len(numbers) > 20
    assert checks <= statements.CHECKS.keys()
    assert numbers <= statements.BOUNDS.keys() | statements.MEASURES.keys()


def test_an_unknown_statement_stops_the_attack():
    with pytest.raises(attack.NotRegistered, match="statements.py"):
        attack.registered("bound", statements.BOUNDS, "something new")
    with pytest.raises(KeyError):
        sentences.judge(None, "The components are beautiful.")


@pytest.mark.parametrize(
    "text",
    [
        "The relative error is 0.1.",
        "The relative error is 0.1; no factorization of this rank is below 0.9, so a better fit "
        "could lower it by at most 2.",
        "The relative error is 0.1, and hardly less is possible: no factorization of this rank "
        "lowers it by more than 1e-9.",
        "The fit is exact up to rounding.",
        "The component is unique: no other nonnegative one has the same product.",
        "The components are unique nearby: small changes of them cannot give the same product, but "
        "another product may fit the data as well.",
        "Some weights are negative, so this is not a nonnegative factorization.",
        "The weights are not unique: some components are combinations of others.",
        "Nothing is proved about the components themselves on this data.",
    ],
)
def test_false_sentences_are_found(text):
    rows = np.random.default_rng(0).random((9, 4))
    fitted = provenmf.SPA(2, certify="full").fit(rows)
    case = attack.case_of(rows, fitted.factorization_, fitted.certificate_, rows)
    assert sentences.judge(case, text) is False


def test_long_sums_are_right():
    found = list(large.cases(quick=True))
    assert len(found) > 80 and all(verdict for _, _, verdict in found)


def test_a_false_statement_is_found():
    """The attack can fail: a lower bound above the best error, and a margin that is too large."""
    rows = np.vstack([np.eye(3), np.full((2, 3), 1 / 3)])
    fitted = provenmf.SPA(2).fit(rows)
    case = attack.case_of(rows, fitted.factorization_, fitted.certificate_, rows)
    best = float(case.best_error)
    assert statements.lower_bound(case, best * 0.999) and not statements.lower_bound(case, 1.0)
    name = "anchor_noise"
    assert not statements.BOUNDS[name](case, 5.0)
