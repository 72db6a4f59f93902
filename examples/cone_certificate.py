"""A bound that is proved for the data at hand, and what happens when one row spoils it."""

import numpy as np

from provenmf import ConeNMF
from provenmf.datasets.cones import equiangular_axes, sample_cones


def run():
    """Fit three cones, certify them, add a stray row and certify again."""
    axes = equiangular_axes(3, 40, 1.3, random_state=0)
    sample = sample_cones(500, axes, angles=0.2, random_state=1)

    model = ConeNMF().fit(sample.data)
    bound = model.certificate_.bounds["relative_error"]
    error = model.reconstruction_err_ / np.linalg.norm(sample.data)
    print(
        f"{model.n_components_} cones found, relative error {error:.4f}, proved bound {bound:.4f}"
    )
    print(model.certificate_)

    stray = axes[0] + axes[1]
    spoilt = ConeNMF(3).fit(np.vstack([sample.data, stray]))
    print("\nWith a row between two cones:")
    print(spoilt.certificate_)
    return model, spoilt


if __name__ == "__main__":
    run()
