"""Results of every kind, made by hand, for the tests of report, command line and browser."""

import signal
from dataclasses import replace

import numpy as np
import pytest

from provenmf.applications import Communities, Parts, Signatures, Topics, Unmixing
from provenmf.applications.signatures.catalogue import Match
from provenmf.applications.signatures.channels import STANDARD
from provenmf.applications.topics.answer import TopicSettings
from provenmf.metrics.recovery import Agreement
from provenmf.results import Answer, Certificate, Check, Factorization, Trace

SCRIPT = "<script>alert(1)</script>"

CERTIFICATE = Certificate(
    "merit",
    checks=(
        Check("anchors apart", "Theorem 3", "holds", 0.8, 0.2, "every anchor is far enough", ">="),
        Check("noise is small", "Theorem 3", "fails", 0.5, 0.1, "noise of the largest row"),
        Check("rows enough", "Theorem 4", "unknown", 3.0, None, "the constant is not known"),
    ),
    bounds={
        "relative_error": 0.25,
        "relative_error_lower_bound": 0.15,
        "relative_error_gap": 0.05,
    },
    measures={
        "relative_error": 0.2,
        "margins": (0.1, 0.4, float("nan")),
    },
)


@pytest.fixture(scope="session", autouse=True)
def interruption_is_heard():
    """A shell that starts the tests in the background lets them ignore Ctrl-C, which some send."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def make_fit(n: int, d: int, k: int, **names: np.ndarray) -> Factorization:
    rng = np.random.default_rng(7)
    return Factorization(
        method="merit",
        weights=rng.dirichlet(np.full(k, 0.3), size=n),
        components=rng.dirichlet(np.full(d, 0.2), size=k),
        anchors=np.arange(k),
        trace=Trace(
            {
                "seconds": np.linspace(0.1, 2, 20),
                "duality_gap": 0.5 ** np.arange(20),
                "movement": np.linspace(1, 0.2, 20),
            }
        ),
        stop_reason="converged",
        certificate=CERTIFICATE,
        parameters={"n_components": k, "tol": 1e-6, "note": SCRIPT},
        versions={"provenmf": "0"},
        **names,
    )


def topics_result() -> Topics:
    rng = np.random.default_rng(1)
    words = [f"word{i}" for i in range(60)]
    words[0] = SCRIPT
    names = [f"document {i}" for i in range(1, 41)]
    names[:3] = [SCRIPT, "b", "c"]
    topics = rng.dirichlet(np.full(60, 0.2), size=4)
    topics[:, 0] = [0.3, 0, 0, 0]  # an anchor word that is listed, and marked
    return Topics(
        make_fit(50, 8, 4),
        topics=topics / topics.sum(axis=1, keepdims=True),
        vocabulary=np.array(words),
        word_columns=np.arange(60),
        document_weights=rng.dirichlet(np.full(4, 0.3), size=40),
        anchor_columns=np.array([0, 7, 8, 9]),
        document_names=np.array(names),
        example_documents=np.array([[0, 1, 2], [3, 4, 5], [6, 7, -1], [9, 10, 11]]),
        example_texts=np.array([[f"{SCRIPT} & an excerpt " * 20, "second", ""]] * 4),
        npmi=np.array([0.3, 0.1, -0.1, 0.2]),
        cv=np.array([0.6, 0.5, 0.4, 0.5]),
        word_frequency=np.full(60, 1 / 60),
        word_documents=np.full(60, 9),
        settings=TopicSettings(4, "merit"),
        notes=("1 document was empty and left out",),
        document_groups=np.array([SCRIPT if i % 4 else f"{1914 + i % 3}" for i in range(40)]),
        grouped_by="year",
    )


def communities_result() -> Communities:
    rng = np.random.default_rng(3)
    return Communities(
        make_fit(70, 3, 3),
        memberships=rng.dirichlet(np.full(3, 0.3), size=80),
        pure_nodes=np.array([0, 4, 5]),
        node_names=np.array([SCRIPT if i == 0 else f"node {i}" for i in range(80)]),
        edges=rng.integers(80, size=(200, 2)),
        undetermined=np.zeros(80, dtype=bool),
        kept_nodes=np.arange(70),
        eigenvalues=np.array([9.0, -5.0, 4.0, 1.0]),
        scaled=True,
        rank_correlation=0.9,
    )


def unmixing_result() -> Unmixing:
    rng = np.random.default_rng(4)
    mask = np.ones(600, dtype=bool)
    mask[[0, 40]] = False
    return Unmixing(
        make_fit(90, 50, 3),
        endmembers=rng.random((3, 50)),
        abundances=rng.dirichlet(np.full(3, 0.3), size=598),
        pixel_mask=mask,
        band_mask=np.ones(50, dtype=bool),
        image_shape=(30, 20),
        wavelengths=np.linspace(400, 900, 50),
        anchor_pixels=np.array([1, 2, 3]),
        agreement=Agreement(np.arange(3), np.array([0.1, 0.2, 0.3])),
        component_names=("soil", SCRIPT, "water"),
        residuals=rng.random(598),
        reference=rng.random((3, 50)),
        picture=rng.integers(256, size=(30, 20, 3)).astype(np.uint8),
        picture_bands=(40, 25, 10),
    )


def parts_result() -> Parts:
    names = tuple(f"image {i}" for i in range(1, 31))
    return Parts(make_fit(30, 64, 5), image_shape=(8, 8), names=names)


def signatures_result() -> Signatures:
    rng = np.random.default_rng(5)
    exposures = rng.gamma(0.5, 400.0, (40, 3))
    fit = make_fit(
        40,
        96,
        3,
        column_names=np.array([SCRIPT, *STANDARD["single bases"][1:]]),
        row_names=np.array([SCRIPT, *(f"tumor {i}" for i in range(1, 40))]),
    )
    return Signatures(
        replace(fit, weights=exposures, anchors=None),
        unselected=exposures,
        exposure_errors=np.sqrt(exposures),
        overdispersion=0.02,
        mutations=exposures.sum(axis=1),
        reconstruction=rng.uniform(0.8, 1.0, 40),
        matches=tuple(Match(SCRIPT, 0.9, ((SCRIPT, 0.6), ("SBS5", 0.4)), 0.95) for _ in range(3)),
    )


def matrix_result() -> Factorization:
    return make_fit(25, 12, 3, column_names=np.array([SCRIPT] + [f"c{i}" for i in range(11)]))


MAKERS = {
    "topics": topics_result,
    "communities": communities_result,
    "unmixing": unmixing_result,
    "parts": parts_result,
    "signatures": signatures_result,
    "matrix": matrix_result,
}


@pytest.fixture(scope="session", params=list(MAKERS))
def result(request: pytest.FixtureRequest) -> Factorization | Answer:
    return MAKERS[request.param]()


@pytest.fixture(scope="session")
def results() -> dict[str, Factorization | Answer]:
    return {kind: make() for kind, make in MAKERS.items()}
