import numpy as np
import pytest

from provenmf.datasets.cones import (
    equiangular_axes,
    sample_cones,
)
from provenmf.errors import InvalidInput


def angles_to(rows, axes):
    cosines = np.einsum("ij,ij->i", rows, axes) / np.linalg.norm(rows, axis=1)
    return np.arccos(np.clip(cosines, -1, 1))


@pytest.mark.parametrize("angle", [0.1, 0.7, 1.21, np.pi / 2])
@pytest.mark.parametrize("shape", [(2, 3), (5, 6), (10, 100)])
def test_axes_are_nonnegative_and_equiangular(angle, shape):
    axes = equiangular_axes(*shape, angle, random_state=0)
    assert axes.shape == shape and axes.min() >= 0
    gram = axes @ axes.T
    np.testing.assert_allclose(gram, np.cos(angle) + (1 - np.cos(angle)) * np.eye(shape[0]))


@pytest.mark.parametrize("spread", ["plane", "random"])
def test_rows_lie_in_their_cones(spread):
    axes = equiangular_axes(4, 40, 1.2, random_state=0)
    sample = sample_cones(2000, axes, angles=[0.1, 0.2, 0.3, 0.4], spread=spread, random_state=1)
    assert sample.data.min() >= 0
    beta = angles_to(sample.data, axes[sample.labels])
    limits = np.array([0.1, 0.2, 0.3, 0.4])
    assert (beta <= limits[sample.labels] + 1e-7).all()
    np.testing.assert_allclose(sample.weights @ axes + sample.extras["deviation"], sample.data)
    assert ((sample.weights > 0).sum(axis=1) == 1).all()


def test_angles_are_uniform_and_squared_lengths_exponential():
    axes = equiangular_axes(2, 30, 1.2, random_state=0)
    sample = sample_cones(20_000, axes, angles=0.3, rates=[2.0, 0.5], random_state=2)
    beta = angles_to(sample.data, axes[sample.labels])
    np.testing.assert_allclose(
        np.quantile(beta, [0.25, 0.5, 0.75]), [0.075, 0.15, 0.225], atol=0.005
    )
    squares = (sample.data**2).sum(axis=1)
    for k, mean in ((0, 0.5), (1, 2.0)):
        assert squares[sample.labels == k].mean() == pytest.approx(mean, rel=0.05)
        assert squares[sample.labels == k].std() == pytest.approx(mean, rel=0.05)
    assert np.bincount(sample.labels).min() > 9500


def test_impossible_requests_are_named():
    with pytest.raises(InvalidInput, match="angle=2"):
        equiangular_axes(3, 10, 2)
    with pytest.raises(InvalidInput, match="n_columns=3"):
        equiangular_axes(3, 3, 1.0)
    with pytest.raises(InvalidInput, match="angles=1.6"):
        sample_cones(10, np.eye(3), angles=1.6)
