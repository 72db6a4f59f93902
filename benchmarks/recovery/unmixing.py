"""Unmixing against VCA and N-FINDR: spectral angles, errors of abundances, materials counted.

    python -m benchmarks.recovery.unmixing [--data DIR] [--quick] [--varying] [--first-seed 0]

Cubes of the model at 20, 30 and 40 dB, with and without pure pixels, noise differing from band to
band, one kind with pixels up to 20 % darker or brighter; medians over the seeds. With --data also
the three scenes: DIR/hyperspectral holds samson.npz, jasper_ridge.npz and moffett.npz with
Y (bands, pixels), the reference E (bands, k) and A (k, pixels). The peers are written here as
their papers have them, with fully constrained least squares.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from benchmarks.peers.unmixing import n_findr, vca

from provenmf.applications import unmix
from provenmf.datasets.cubes import mixed_cube
from provenmf.io import read_cube
from provenmf.io.arrays import read_npz
from provenmf.io.images import as_cube
from provenmf.linalg.nnls import simplex_least_squares
from provenmf.metrics.recovery import compare_endmembers

SCENES = ("samson", "jasper_ridge", "moffett")
KINDS = {
    "5 % pure": {},
    "0.5 % pure": {"pure_share": 0.005},
    "Dirichlet(.5)": {"pure_share": 0.0, "concentration": 0.5},
    "at most .85": {"pure_share": 0.0, "most": 0.85},
    "the same, light": {"pure_share": 0.0, "most": 0.85, "light": 0.2},
}


def abundances_of(pixels, endmembers):
    """Fully constrained least squares."""
    return simplex_least_squares(endmembers @ endmembers.T, pixels @ endmembers.T)


def ours(vertices):
    def run(cube, k):
        found = unmix(cube, k, vertices=vertices, certify=False)
        return found.endmembers, found.abundances

    return run


def peer(method):
    def run(cube, k):
        endmembers = method(cube.pixels, k, np.random.default_rng(0))
        return endmembers, abundances_of(cube.pixels, endmembers)

    return run


METHODS = {
    "provenmf": ours("auto"),
    "vertices=False": ours(False),
    "VCA": peer(vca),
    "N-FINDR": peer(n_findr),
}


def measure(run, cube, endmembers, abundances):
    start = time.perf_counter()
    found = run(cube, len(endmembers))
    seconds = time.perf_counter() - start
    agreement = compare_endmembers(found[0], endmembers, found[1], abundances)
    return agreement.mean_angle, agreement.abundance_rmse, seconds


def print_row(name, kind, results):
    cells = [f"{a:.4f}/{e:.4f} {s:5.2f}" for a, e, s in results]
    print(f"{name:13} {kind:15}" + "".join(f"{cell:>21}" for cell in cells), flush=True)


def made_up(seeds, side, snrs, first):
    for snr in snrs:
        for kind, options in KINDS.items():
            table, model = [], dict(options)
            uneven = model.pop("light", 0.0)
            for seed in range(first, first + seeds):
                made = mixed_cube(side, side, 100, 4, snr=snr, random_state=seed, **model)
                light = np.random.default_rng(seed).uniform(1 - uneven, 1 + uneven, (side, side, 1))
                truth = as_cube(light * made.cube), made.endmembers, made.abundances
                table.append([measure(run, *truth) for run in METHODS.values()])
            print_row(f"{snr} dB", kind, np.median(table, axis=0))


VARYING = {
    "few pure": {"pure_share": 0.003},
    "few, Dir .5": {"pure_share": 0.003, "concentration": 0.5},
    "none .9": {"pure_share": 0.0, "most": 0.9},
    "many": {},
}


def varying_scene(seed, kind, share, uneven, *, k=5, side=40, bands=60):
    """Return a cube in which every material of every pixel has a spectrum of its own, and the mean.

    The deviation is a smooth curve times `share`; pixels are darker or brighter by `uneven`.
    """
    made = mixed_cube(side, side, bands, k, snr=35, random_state=seed, **kind)
    rng, n = np.random.default_rng(seed + 10**6), side * side
    noise = made.cube.reshape(n, bands) - made.abundances @ made.endmembers
    pixels, places = np.zeros((n, bands)), np.linspace(0, 1, bands)
    for j in range(k):
        heights = rng.standard_normal((n, 4))
        waves = np.array([np.cos(np.pi * m * places + rng.uniform(0, 6)) for m in range(4)])
        own = made.endmembers[j] * (1 + share * heights @ waves / 2)
        pixels += made.abundances[:, [j]] * own
    light = rng.uniform(1 - uneven, 1 + uneven, (n, 1))
    return np.maximum(light * pixels + noise, 0).reshape(side, side, bands), made.endmembers


def varying(seeds, first):
    for share, uneven in ((0.02, 0.0), (0.02, 0.2), (0.03, 0.1), (0.05, 0.2), (0.1, 0.1)):
        for name, kind in VARYING.items():
            angles = []
            for seed in range(first, first + seeds):
                cube, truth = varying_scene(seed, kind, share, uneven)
                runs = (run(as_cube(cube), len(truth))[0] for run in METHODS.values())
                angles.append([compare_endmembers(found, truth).mean_angle for found in runs])
            cells = "".join(f"{angle:16.4f}" for angle in np.mean(angles, axis=0))
            print(f"vary {share} light {uneven} {name:12}{cells}", flush=True)


def real(folder):
    for name in SCENES:
        path = folder / "hyperspectral" / f"{name}.npz"
        known = read_npz(path)
        truth = read_cube(path), known["E"].T, known["A"].T
        print_row(name, "", [measure(run, *truth) for run in METHODS.values()])


def count_materials(seeds, side, numbers, snrs, first):
    print("\nmaterials counted (n_endmembers=None), hits of", seeds)
    for k in numbers:
        for snr in snrs:
            found = []
            for seed in range(first, first + seeds):
                made = mixed_cube(side, side, 100, k, snr=snr, random_state=seed)
                found.append(len(unmix(made.cube, certify=False).endmembers))
            print(f"k={k:2} {snr} dB: {found.count(k)}  {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true", help="one small cube of each kind")
    parser.add_argument("--varying", action="store_true", help="only spectra that vary; angles")
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.varying:
        print(" " * 33 + "".join(f"{name:>16}" for name in METHODS))
        varying(6, arguments.first_seed)
        return
    seeds, side = (1, 30) if arguments.quick else (5, 60)
    print("mean angle in radians / root mean square error of abundances, seconds")
    print(f"{'':29}" + "".join(f"{name:>21}" for name in METHODS))
    snrs = (30,) if arguments.quick else (20, 30, 40)
    made_up(seeds, side, snrs, arguments.first_seed)
    if arguments.data is not None:
        real(arguments.data)
    numbers = (3,) if arguments.quick else (2, 4, 6, 8)
    count_materials(seeds, side, numbers, snrs, arguments.first_seed)


if __name__ == "__main__":
    main()
