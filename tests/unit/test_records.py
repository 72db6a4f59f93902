"""Records save, load, print and compare."""

import json
from dataclasses import replace

import numpy as np
import pytest

import provenmf
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.results import Answer, Certificate, Check, Factorization, Trace
from provenmf.results.certificate import rounded_down, rounded_up
from provenmf.results.estimates import Evidence, plural
from provenmf.results.states import FastGradientState


@pytest.fixture
def factorization():
    rng = np.random.default_rng(0)
    certificate = Certificate(
        "spa",
        checks=(
            Check("rows are separable", "Theorem 1", "holds", 0.1, 0.2, "all of them"),
            Check("hidden constant", "Theorem 4", "unknown", 3.0),
        ),
        bounds={"relative_error": 0.25},
        measures={"duality_gap": 1e-3, "anchor_margin": (0.1, 0.2)},
    )
    return Factorization(
        method="spa",
        weights=rng.random((4, 2)).astype(np.float32),
        components=rng.random((2, 3)),
        anchors=np.array([1, 3]),
        trace=Trace.from_rows([{"seconds": 0.1}, {"seconds": 0.2, "gap": 1.0}]),
        stop_reason="converged",
        certificate=certificate,
        parameters={"n_components": 2, "init": None},
        versions={"provenmf": "0"},
        state=FastGradientState(np.array([0.5, 0.2]), np.inf),
        row_names=np.array(["ä", "<b>", "", "d"]),
    )


def test_round_trip(factorization, tmp_path):
    factorization.save(tmp_path / "result.npz")
    loaded = provenmf.load(tmp_path / "result.npz")
    assert loaded == factorization
    assert loaded.weights.dtype == np.float32 and loaded.labels is None
    assert np.isnan(loaded.trace["gap"][0])
    assert isinstance(loaded.state, FastGradientState)
    assert loaded.state.gap == np.inf and loaded.state.diagonal.tolist() == [0.5, 0.2]
    X = np.vstack([loaded.components, np.ones((2, 3))])
    with pytest.raises(InvalidInput, match="does not say what MERIT solved"):
        provenmf.certify(X, replace(loaded, method="merit", anchors=np.arange(2)))


def test_certificate_as_plain_data(factorization):
    content = json.loads(json.dumps(factorization.certificate.to_dict()))
    assert content["checks"][0] == {
        "name": "rows are separable",
        "theorem": "Theorem 1",
        "status": "holds",
        "value": 0.1,
        "threshold": 0.2,
        "note": "all of them",
        "direction": "<=",
        "in_words": "",
    }
    assert content["bounds"] == {"relative_error": 0.25}


def test_joined_certificates_keep_everything():
    a = Certificate("a", (Check("x", "T", "fails"),), {"p": 1.0}, {"m": 1.0})
    b = Certificate("b", (Check("y", "T", "holds"),), {}, {"n": 2.0})
    joined = a.join(b)
    assert [c.name for c in joined.checks] == ["x", "y"]
    assert joined.method == "a" and joined.measures == {"m": 1.0, "n": 2.0}


def test_numbers_that_are_not_finite_say_nothing():
    """Infinite and NaN bounds stood in certificates, and made JSON that nobody reads."""
    check = Check("x", "T", "fails", value=np.inf, threshold=np.nan)
    assert check.value is None and check.threshold is None
    certificate = Certificate(
        "a",
        (check,),
        bounds={"p": np.inf, "q": np.float32(0.5)},
        measures={"m": np.nan, "t": (1.0, np.inf)},
    )
    assert certificate.bounds == {"q": 0.5} and certificate.measures == {"t": (1.0, None)}
    json.dumps(certificate.to_dict(), allow_nan=False)


def test_an_error_above_one_is_called_worse_than_nothing():
    bounds = {"relative_error_lower_bound": 0.1, "relative_error_gap": 10.65}
    certificate = Certificate("spa", bounds=bounds, measures={"relative_error": 10.75})
    assert certificate.verdict.startswith(
        "The relative error is 10.75: all zeros would be nearer to the data than this product."
    )


def test_the_verdict_comes_first_and_says_the_same_everywhere():
    words = "The anchors are proved."
    certificate = Certificate(
        "spa",
        (Check("margin", "T", "holds", in_words=words),),
        bounds={"relative_error_lower_bound": 0.158, "relative_error_gap": 0.00042},
        measures={"relative_error": 0.1584},
    )
    assert certificate.verdict == (
        "The relative error is 0.1584, and hardly less is possible: no factorization of this rank "
        "lowers it by more than 0.00042. The anchors are proved."
    )
    assert certificate.to_dict()["verdict"] == certificate.verdict
    printed = " ".join(str(certificate).split())
    assert printed.startswith(f"Certificate of spa {certificate.verdict}")
    assert "The anchors are proved." in certificate._repr_html_()


@pytest.mark.parametrize("value", [0.12491, 3.848, 1e-300, 99.99, 0.1, 12345.0, 7e200])
def test_rounding_keeps_at_most_and_at_least_true(value):
    """Rounded to the nearest, "at most 0.12" was said of 0.1249."""
    assert value <= float(rounded_up(value)) <= value * 1.1
    assert value * 0.999 <= float(rounded_down(value)) <= value
    assert rounded_up(0.0) == "0"


def test_a_made_up_status_is_refused():
    with pytest.raises(ValueError, match="maybe"):
        Check("x", "T", "maybe")


def test_foreign_files_are_refused(tmp_path):
    np.savez(tmp_path / "foreign.npz", a=np.ones(3))
    np.save(tmp_path / "foreign.npy", np.ones(3))
    np.savez(tmp_path / "pickle.npz", record=np.array([{"a": 1}], dtype=object))
    for name in ("foreign.npz", "foreign.npy", "pickle.npz", "missing.npz"):
        with pytest.raises(UnreadableFile, match=name):
            provenmf.load(tmp_path / name)


def test_objects_are_not_saved(factorization, tmp_path):
    bad = replace(factorization, row_names=np.array([{}], dtype=object))
    with pytest.raises(InvalidInput, match="row_names"):
        bad.save(tmp_path / "bad.npz")
    assert not list(tmp_path.iterdir())


def test_evidence_must_speak_of_all_components():
    evidence = Evidence(("confirmed",) * 2, (0.001,) * 2, (1.0, None), found_again=(True,) * 2)
    with pytest.raises(InvalidInput, match="different numbers"):
        replace(evidence, distances=())
    fit = Factorization("spa", np.ones((5, 3)), np.ones((3, 4)))
    with pytest.raises(InvalidInput, match="evidence for 2 of 3"):
        Answer(replace(fit, certificate=Certificate("spa", evidence=evidence)))


def test_words_in_y_have_the_usual_plural():
    assert [plural(word) for word in ("topic", "community", "day")] == [
        "topics",
        "communities",
        "days",
    ]
