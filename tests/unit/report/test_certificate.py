"""The certificate in words."""

import numpy as np
import pytest

from provenmf.methods import CATALOGUE, make_estimator
from provenmf.report.certificate import certificate_elements, summary
from provenmf.report.elements import Table
from provenmf.results import Certificate, Check
from provenmf.results.certificate import meaning, proved
from provenmf.results.verdict import is_good_news


@pytest.mark.parametrize("status", ["holds", "fails", "unknown"])
def test_green_only_for_what_is_established(status):
    """A margin that the residuals exceed is no good news, whatever bounds there are."""
    check = Check("c", "T", status, in_words="The anchors are proved.")
    certificate = Certificate("spa", (check,), {"anchor_noise": 0.1})
    assert is_good_news(certificate) == (status == "holds")


def test_a_certificate_from_a_file_says_so():
    stored = Certificate("spa", measures={"relative_error": 0.1}, recomputed=False)
    assert "read from a file" in summary(stored)[0]


@pytest.mark.parametrize("method", CATALOGUE)
@pytest.mark.filterwarnings("ignore::provenmf.errors.DegenerateData")
def test_no_quantity_is_a_bare_symbol(method):
    """A reader who does not know the paper can tell what was measured."""
    data = np.random.default_rng(0).random((30, 6)) + np.tile(3 * np.eye(3, 6), (10, 1))
    certificate = make_estimator(method, 3, random_state=0).fit(data).certificate_
    for name in certificate.measures:
        assert " " in meaning(name), name
    for name in certificate.bounds:
        assert proved(name).endswith(("at most", "at least")), name


def test_unknown_is_never_counted_as_met():
    checks = (Check("a", "T1", "holds"), Check("b", "T1", "unknown", 9.0, 1.0))
    assert "1 met, 0 not met, 1 that cannot be decided" in summary(Certificate("x", checks))[-1]
    tables = [e for e in certificate_elements(Certificate("x", checks)) if isinstance(e, Table)]
    assert [table.title for table in tables[:2]] == ["Conditions that hold", "What is unknown"]


def test_side_of_the_threshold_in_words():
    for direction, words in ((">=", "at least"), ("<=", "at most")):
        check = Check("c", "T", "holds", 0.8, 0.2, direction=direction)
        elements = certificate_elements(Certificate("x", (check,)))
        table = next(e for e in elements if isinstance(e, Table))
        assert table.rows[0][2] == f"measured 0.8, needed {words} 0.2"
