"""Spectral angles and abundance errors of unmixing, with and without grouping and scaling.

    python benchmarks/unmixing.py --data DIR [--quick]

DIR/hyperspectral holds samson.npz, jasper_ridge.npz and moffett.npz with Y (bands, pixels), the
reference E (bands, k) and A (k, pixels). Without --data a made-up scene is used.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from provenmf.applications import unmix
from provenmf.io import read_cube
from provenmf.io.cubes import as_cube
from provenmf.io.numpy_files import read_npz

SCENES = ("samson", "jasper_ridge", "moffett")


def made_up_scene():
    rng = np.random.default_rng(0)
    endmembers = rng.uniform(0.1, 1.0, (3, 60)) * np.array([[1.0], [0.8], [0.15]])
    abundances = rng.dirichlet(0.4 * np.ones(3), 1600)
    pixels = abundances @ endmembers + 0.003 * rng.standard_normal((1600, 60))
    return as_cube(pixels, shape=(40, 40)), endmembers, abundances


def scenes(folder):
    if folder is None:
        yield "made up", *made_up_scene()
        return
    for name in SCENES:
        path = folder / "hyperspectral" / f"{name}.npz"
        truth = read_npz(path)
        yield name, read_cube(path), truth["E"].T, truth["A"].T


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true", help="leave out MERIT without grouping")
    arguments = parser.parse_args()
    print(f"{'scene':13} {'method':7} {'group':6} {'scale':6} {'angle':>6} {'RMSE':>6} {'s':>7}")
    for name, cube, endmembers, abundances in scenes(arguments.data):
        for method in ("spa", "xray", "merit"):
            for group in (True, False):
                for scale in (True, False):
                    if arguments.quick and method == "merit" and not group:
                        continue
                    start = time.perf_counter()
                    result = unmix(
                        cube,
                        len(endmembers),
                        method=method,
                        group=group,
                        scale=scale,
                        true_endmembers=endmembers,
                        true_abundances=abundances,
                        random_state=0,
                        certify=False,
                    )
                    seconds = time.perf_counter() - start
                    found = result.agreement
                    print(
                        f"{name:13} {method:7} {group!s:6} {scale!s:6} {found.mean_angle:6.3f} "
                        f"{found.abundance_rmse:6.3f} {seconds:7.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
