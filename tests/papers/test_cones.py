"""Claims of Liu and Tan (2017), on data made as their Section 4 says, at a smaller size."""

import math

import numpy as np
import pytest

from provenmf import ConeNMF
from provenmf.datasets.cones import paper_cones
from provenmf.methods.cones.guarantee import theorem_5_limit

K, D, ALPHA = 10, 100, 0.3


@pytest.fixture(scope="module", params=[0, 1, 2])
def fitted(request):
    sample = paper_cones(2000, n_columns=D, n_components=K, random_state=request.param)
    return sample, ConeNMF(K).fit(sample.data)


def test_lemma_1_clusters_are_the_cones(fitted):
    sample, model = fitted
    assert len(set(zip(sample.labels.tolist(), model.labels_.tolist()))) == K


def test_theorems_4_and_5_and_measured_cones_bound_the_error_ever_closer(fitted):
    # Rows of Section 4 fill half a plane of each cone: a cone half as wide contains them.
    sample, model = fitted
    limit = theorem_5_limit(np.full(K, ALPHA), 1 / np.arange(1, K + 1))
    bound = model.certificate_.bounds["relative_error"]
    error = model.reconstruction_err_ / np.linalg.norm(sample.data)
    assert error <= bound < limit < math.sin(ALPHA)


def test_cones_without_rows_leave_the_bound_true():
    # Lemma 1 supposes that every cone has rows. With n = 20 and 10 cones some have none; then
    # cones are split, every cluster lies within one cone, and the bound stands.
    for seed in range(20):
        sample = paper_cones(20, n_columns=D, n_components=K, random_state=seed)
        model = ConeNMF(K, certify=False).fit(sample.data)
        assert all(
            np.unique(sample.labels[model.labels_ == j]).size == 1
            for j in range(model.n_components_)
        )
        assert model.reconstruction_err_ <= math.sin(ALPHA) * np.linalg.norm(sample.data)


def test_inequality_1_cannot_be_weakened_to_pairs():
    # Each pair satisfies α_ij > max(α_i + 3α_j, 3α_i + α_j), yet the wide third cone has rows
    # farther apart than the two narrow cones: farthest-first splits it and joins the two.
    def row(angle, plane):
        vector = np.zeros(4)
        vector[0], vector[plane] = math.cos(angle), math.sin(angle)
        return vector

    narrow_1, narrow_2 = row(0.0, 1), row(0.1, 1)
    wide = [np.array([0, 0, math.cos(a), math.sin(a)]) for a in (0.5, 1.2)]
    X = np.array([narrow_1, narrow_2, *wide])
    angles, between = np.array([0.0, 0.0, 0.35]), [0.1, math.pi / 2, math.pi / 2]
    pairs = [(0, 1), (0, 2), (1, 2)]
    for (i, j), apart in zip(pairs, between):
        assert apart > max(angles[i] + 3 * angles[j], 3 * angles[i] + angles[j])
    labels = ConeNMF(3, first=0, certify=False).fit(X).labels_
    assert labels[0] == labels[1] and labels[2] != labels[3]
