"""Materials of a scene and how much of each is in every pixel."""

import numpy as np

from provenmf.applications import unmix


def scene(seed=0):
    """A 40 x 40 image of three materials, one of them dark, with a little noise."""
    rng = np.random.default_rng(seed)
    bands = np.linspace(0, 1, 60)
    soil = 0.3 + 0.4 * bands
    plants = 0.1 + 0.6 / (1 + np.exp(-30 * (bands - 0.5)))
    water = 0.2 * np.exp(-2 * bands)
    endmembers = np.stack([soil, plants, water])
    abundances = rng.dirichlet(0.4 * np.ones(3), 1600)
    noise = 0.002 * rng.standard_normal((1600, 60))
    cube = np.maximum(abundances @ endmembers + noise, 0).reshape(40, 40, 60)
    return cube, endmembers, abundances


def run():
    """Unmix, compare with the truth, and look at one map."""
    cube, endmembers, abundances = scene()
    result = unmix(cube, 3, true_endmembers=endmembers, true_abundances=abundances)
    print("angles to the true spectra:", result.agreement.angles.round(3))
    print(f"abundances are off by {result.agreement.abundance_rmse:.3f} (root mean square)")
    print("maps:", result.maps().shape)
    for note in result.notes:
        print("note:", note)
    return result


if __name__ == "__main__":
    run()
