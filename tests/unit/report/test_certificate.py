import numpy as np
import pytest

from provenmf.estimators import CATALOGUE, make_estimator
from provenmf.records import Certificate, Check
from provenmf.report.certificate import certificate_elements, headline, margin, meaning, proved
from provenmf.report.elements import Statements


def test_headline_separates_proved_from_measured():
    proved = Certificate("cones", bounds={"relative_error": 0.3}, measures={"relative_error": 0.2})
    assert headline(proved)[0] == "Proved for this data: the relative error is at most 0.3."
    bare = Certificate("cones", measures={"relative_error": 0.2})
    assert headline(bare)[0] == "The relative error is 0.2."
    assert headline(bare)[1].startswith("About the components themselves nothing is proved")


def test_headline_says_what_could_be_gained():
    measures = {"relative_error": 0.5, "relative_error_lower_bound": 0.4}
    assert "at most 0.1 could be gained" in headline(Certificate("spa", measures=measures))[0]


@pytest.mark.parametrize("method", CATALOGUE)
@pytest.mark.filterwarnings("ignore::provenmf.errors.DegenerateData")
def test_no_quantity_is_a_bare_symbol(method):
    """A reader who does not know the paper can tell what was measured."""
    data = np.random.default_rng(0).random((30, 6)) + np.tile(3 * np.eye(3, 6), (10, 1))
    certificate = make_estimator(method, 3, random_state=0).fit(data).certificate_
    for name in certificate.measures:
        assert " " in meaning(name), name
    for name in certificate.bounds:
        assert proved(name).endswith("at most"), name


def test_unknown_is_never_counted_as_met():
    checks = (Check("a", "T1", "holds"), Check("b", "T1", "unknown", 9.0, 1.0))
    assert "1 met, 0 not met, 1 that cannot be decided" in headline(Certificate("x", checks))[-1]
    groups = [
        e for e in certificate_elements(Certificate("x", checks)) if isinstance(e, Statements)
    ]
    assert [group.title for group in groups] == ["Conditions that hold", "What is unknown"]


@pytest.mark.parametrize(
    ("status", "value", "threshold", "words"),
    [
        ("holds", 0.8, 0.2, "needed at least 0.2, met by a factor of 4"),
        ("holds", 0.1, 0.2, "needed at most 0.2, met by a factor of 2"),
        ("fails", 0.1, 0.2, "needed at least 0.2, missed by a factor of 2"),
        ("fails", 0.4, 0.2, "needed at most 0.2, missed by a factor of 2"),
        ("unknown", 0.4, 0.2, "needed 0.2"),
        ("fails", 0.4, -0.2, "needed at most -0.2"),
        ("fails", 0.4, float("-inf"), "and no value would be enough here"),
    ],
)
def test_side_of_the_threshold_in_words(status, value, threshold, words):
    certificate = Certificate("x", (Check("c", "T", status, value, threshold),))
    [group] = [e for e in certificate_elements(certificate) if isinstance(e, Statements)]
    assert group.statements[0].measured == f"measured {value}, {words}"


def test_margin_of_zero_has_no_factor():
    assert margin(Check("c", "T", "fails", 0.0, 0.2)) == ""
