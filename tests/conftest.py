"""Results of every kind, made by hand, for the tests of report, command line and browser."""

import numpy as np
import pytest

from provenmf.records import Certificate, Check, Factorization, Trace

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
    rng = np.random.default_rng(1)
    words = [f"word{i}" for i in range(60)]
    words[0] = SCRIPT
    return make_result(
        "topics",
        50,
        8,
        4,
        topics=rng.dirichlet(np.full(60, 0.2), size=4),
        vocabulary=words,
        document_weights=rng.dirichlet(np.full(4, 0.3), size=40),
        anchor_columns=[0, 7, 8, 9],
        anchor_words=[words[i] for i in (0, 7, 8, 9)],
        example_documents=[[0, 1, 2], [3, 4, 5], [6, 7, -1], [9, 10, 11]],
        example_names=[[SCRIPT, "b", "c"]] * 4,
        example_texts=[[f"{SCRIPT} & an excerpt " * 20, "second", ""]] * 4,
        coherence=[-120.5, -99.0, -150.0, -101.0],
        similarity_count=3,
        notes=["1 document was empty and left out"],
    )


def communities_result() -> Factorization:
    rng = np.random.default_rng(3)
    return make_result(
        "communities",
        70,
        3,
        3,
        memberships=rng.dirichlet(np.full(3, 0.3), size=80),
        pure_nodes=[0, 4, 5],
        node_names=[SCRIPT if i == 0 else f"node {i}" for i in range(80)],
        edges=rng.integers(80, size=(200, 2)),
        eigenvalues=[9.0, -5.0, 4.0, 1.0],
        rank_correlation=0.9,
    )


def unmixing_result() -> Factorization:
    rng = np.random.default_rng(4)
    mask = np.ones(600, dtype=bool)
    mask[[0, 40]] = False
    return make_result(
        "unmixing",
        90,
        50,
        3,
        endmembers=rng.random((3, 50)),
        abundances=rng.dirichlet(np.full(3, 0.3), size=598),
        pixel_mask=mask,
        image_shape=[30, 20],
        wavelengths=np.linspace(400, 900, 50),
        anchor_pixels=[1, 2, 3],
        spectral_angles=[0.1, 0.2, 0.3],
        component_names=["soil", SCRIPT, "water"],
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
