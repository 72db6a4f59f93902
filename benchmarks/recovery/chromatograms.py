"""Spectra and elution profiles from single runs of a chromatograph, against pyMCR.

    python -m benchmarks.recovery.chromatograms [--first-seed 0] [--seeds 10]

Drawn runs of 200 times and 60 wavelengths: three to five compounds, exponentially modified
Gaussian peaks that overlap, spectra of three bands, noise of .5 % of the maximum, so that some
entries are below zero. Mean angle in radians to the true spectra and to the true profiles, means
over the runs. pyMCR (if installed) starts from the same pure rows as HALS with init="spa", with
nonnegative least squares on both sides.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.special import erfc

from provenmf import ANLS, HALS, SPA
from provenmf.metrics.recovery import compare_endmembers


def run_of(rng):
    """Return a run (wavelengths, times), its profiles (k, times) and spectra (k, wavelengths)."""
    k = int(rng.integers(3, 6))
    times, bands = np.arange(200.0), np.linspace(0, 1, 60)
    centres = 60 + np.cumsum(rng.uniform(9, 22, k))
    profiles = []
    for centre in centres:
        width, tail = rng.uniform(4, 8), rng.uniform(2, 8)
        ahead = (centre + width**2 / tail - times) / (np.sqrt(2) * width)
        growth = np.exp(np.minimum((2 * centre + width**2 / tail - 2 * times) / (2 * tail), 50))
        profiles.append(growth * erfc(ahead))
    profiles = np.array(profiles)
    profiles *= rng.uniform(0.3, 1.0, (k, 1)) / profiles.max(axis=1, keepdims=True)
    spectra = sum(
        rng.uniform(0.2, 1, (k, 1))
        * np.exp(-0.5 * ((bands - rng.uniform(0, 1, (k, 1))) / rng.uniform(0.06, 0.2, (k, 1))) ** 2)
        for _ in range(3)
    )
    clean = spectra.T @ profiles
    return clean + 0.005 * clean.max() * rng.standard_normal(clean.shape), profiles, spectra


def ours(method, **options):
    def find(data, k):
        model = method(k, clip_negative=True, certify=False, random_state=0, **options)
        return model.fit_transform(data).T, model.components_

    return find


def in_rows(method, **options):
    """Return a search with times in rows."""

    def find(data, k):
        profiles, spectra = ours(method, **options)(data.T, k)
        return spectra, profiles

    return find


def py_mcr(data, k):
    from pymcr.constraints import ConstraintNonneg
    from pymcr.mcr import McrAR

    start = SPA(k, certify=False).fit(np.maximum(data.T, 0)).components_
    both = {"c_constraints": [ConstraintNonneg()], "st_constraints": [ConstraintNonneg()]}
    model = McrAR(max_iter=200, c_regr="NNLS", st_regr="NNLS", **both)
    model.fit(data.T, ST=start)
    return model.ST_opt_, model.C_opt_.T


METHODS = {
    "HALS": in_rows(HALS),
    "HALS, spa": in_rows(HALS, init="spa"),
    "HALS, unimodal": ours(HALS, unimodal=True),
    "ANLS, unimodal": ours(ANLS, unimodal=True),
    "pyMCR": py_mcr,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table = {name: [] for name in METHODS}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        data, profiles, spectra = run_of(np.random.default_rng(seed))
        for name, find in METHODS.items():
            try:
                found = find(data, len(spectra))
            except ImportError:
                continue
            truth = (spectra, profiles)
            angles = [compare_endmembers(f, t).mean_angle for f, t in zip(found, truth)]
            table[name].append(angles)
    for name, rows in table.items():
        if rows:
            spectra, profiles = np.mean(rows, axis=0)
            print(f"{name:16} spectra {spectra:.3f}  profiles {profiles:.3f}")


if __name__ == "__main__":
    main()
