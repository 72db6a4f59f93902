"""Results of every kind, made by hand, for the tests of report, command line and browser."""

import numpy as np
import pytest

from provenmf.records import Certificate, Check, Factorization, Trace

SCRIPT = "<script>alert(1)</script>"

CERTIFICATE = Certificate(
    "merit",
    checks=(
        Check("anchors apart", "Theorem 3", "holds", 0.8, 0.2, "every anchor is far enough"),
        Check("noise is small", "Theorem 3", "fails", 0.5, 0.1, "noise of the largest row"),
        Check("rows enough", "Theorem 4", "unknown", 3.0, None, "the constant is not known"),
    ),
    bounds={"relative_error": 0.25},
    measures={
        "relative_error": 0.2,
        "relative_error_lower_bound": 0.15,
        "relative_error_gap": 0.05,
        "margins": (0.1, 0.4, float("nan")),
    },
)


def make_result(kind: str, n: int, d: int, k: int, **extras: object) -> Factorization:
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
        extras={"kind": np.array(kind)} | {name: np.asarray(v) for name, v in extras.items()},
    )


def topics_result() -> Factorization:
    words = [f"word{i}" for i in range(60)]
    words[0] = SCRIPT
    return make_result(
        "topics",
        40,
        60,
        4,
        vocabulary=words,
        document_names=[SCRIPT if i == 3 else f"doc {i}" for i in range(40)],
        document_excerpts=[f"{SCRIPT} & excerpt {i} " * 20 for i in range(40)],
        coherence=[-120.5, -99.0, -150.0, -101.0],
        similarity_count=3,
        notes=["1 document was empty and left out"],
    )


def communities_result() -> Factorization:
    rng = np.random.default_rng(3)
    return make_result(
        "communities",
        80,
        80,
        3,
        node_names=[SCRIPT if i == 0 else f"node {i}" for i in range(80)],
        edges=rng.integers(80, size=(200, 2)),
        eigenvalues=[9.0, 5.0, 4.0],
    )


def unmixing_result() -> Factorization:
    return make_result(
        "unmixing",
        30 * 20,
        50,
        3,
        image_shape=[30, 20],
        wavelengths=np.linspace(400, 900, 50),
        spectral_angle=[0.1, 0.2, 0.3],
    )


def parts_result() -> Factorization:
    return make_result("parts", 30, 64, 5, image_shape=[8, 8])


def matrix_result() -> Factorization:
    return make_result("matrix", 25, 12, 3, column_names=[SCRIPT] + [f"c{i}" for i in range(11)])


MAKERS = {
    "topics": topics_result,
    "communities": communities_result,
    "unmixing": unmixing_result,
    "parts": parts_result,
    "matrix": matrix_result,
}


@pytest.fixture(scope="session", params=list(MAKERS))
def result(request: pytest.FixtureRequest) -> Factorization:
    return MAKERS[request.param]()


@pytest.fixture(scope="session")
def results() -> dict[str, Factorization]:
    return {kind: make() for kind, make in MAKERS.items()}
