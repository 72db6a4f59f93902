"""The number of anchors without the truth, and greedy anchors where they are better."""

from dataclasses import replace

import numpy as np
import pytest

from provenmf import MERIT, SPA
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.errors import InvalidInput
from provenmf.methods.merit import number, settings


def gaussian_middle_points(snr, seed):
    sample = middle_points(10, 50, random_state=seed)
    noise = np.random.default_rng(seed + 1).standard_normal(sample.data.shape)
    sigma = np.sqrt(np.mean(sample.data**2) / 10 ** (snr / 10))
    return replace(sample, data=sample.data + sigma * noise)


@pytest.mark.parametrize(
    "sample",
    [
        middle_points(10, 50, snr=12, random_state=0),
        middle_points(10, 50, snr=40, random_state=0),
        gaussian_middle_points(15, 0),
        dirichlet_mixtures(200, 80, 40, snr=10, random_state=0),
    ],
    ids=["Fig. 2, 12 dB", "Fig. 2, 40 dB", "Gaussian, 15 dB", "Table I"],
)
def test_number_on_the_papers_kinds_of_data(sample):
    model = MERIT(random_state=0, certify=False).fit(sample.data)
    assert set(model.anchors_) == set(sample.anchors)
    assert any("Number of anchors:" in note for note in model.factorization_.notes)


@pytest.mark.parametrize("lam", ["auto", "paper"])
def test_noise_without_anchors_is_refused_with_the_evidence(lam):
    X = np.random.default_rng(0).random((60, 20))
    with pytest.raises(InvalidInput, match=r"n_components=None cannot be found.* times \(2 are"):
        MERIT(lam=lam, random_state=0).fit(X)


def test_a_penalty_that_lets_every_row_stand_for_itself_is_settled():
    X = np.eye(6)
    reading = number.reading_at(1e-3, np.arange(6), np.full(6, 0.9), as_blocks(X), X)
    assert reading.settled and reading.number <= 3
    honest = number.reading_at(
        1.0, np.arange(6), np.array([0.9, 0.1, 0.8, 0, 0, 0]), as_blocks(X), X
    )
    assert honest.anchors == {0, 2} and honest.drop == pytest.approx(0.7)


def test_the_largest_penalty_that_fits_is_taken():
    """Two penalties fit; rows that stand out at a penalty far from their own noise do not."""

    def read(lam):
        rows = {0, 1} if lam > 0.5 else {0, 1, 2} if lam > 0.05 else {0, 1, 2, 3}
        noise = {2: 0.2, 3: 0.1, 4: 0.01}[len(rows)]
        return number.Reading(lam, frozenset(rows), 0.3, noise, settled=False)

    found = number.fitting_penalty(read, 1.0, 0.0, [])
    assert found.number == 3 and found.lam == pytest.approx(0.1 * settings.SETTINGS.noise_multiple)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_clearest_gap_counts_corners(factor):
    """Six corners of a simplex in Gaussian noise, at half and twice the noise."""
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(6), 0.1 + 0.4 * rng.dirichlet(np.ones(6), 60)])
    rows = weights @ np.eye(6, 20) + 0.03 * factor * rng.standard_normal((66, 20))
    found, gap = number.clearest_gap(rows)
    assert found == 6 and gap > settings.SETTINGS.clear_gap


def test_gaussian_middle_points_are_not_lost_to_greedy_methods():
    found = {"MERIT": 0, "SPA": 0}
    for seed in range(6):
        sample = gaussian_middle_points(12, seed)
        for model in (MERIT(10, random_state=0, certify=False), SPA(10, certify=False)):
            anchors = set(model.fit(sample.data).anchors_)
            found[type(model).__name__] += anchors == set(sample.anchors)
    assert found["MERIT"] >= max(found["SPA"], 4)


def test_a_given_penalty_keeps_the_anchors_of_its_problem():
    sample = gaussian_middle_points(12, 0)
    given = MERIT(10, lam=1e-3, random_state=0, certify=False).fit(sample.data)
    assert not any("taken" in note for note in given.factorization_.notes)
