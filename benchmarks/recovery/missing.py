"""Missing entries: how well hidden entries and true components are found with 10, 30, 50 % missing.

"hidden" is the relative error at the hidden entries of HALS, "filled" that of the same HALS on data
whose gaps were filled by column means, "means" that of the column means themselves; "components" is
the mean cosine of matched components with the truth where it is known, beside that of the plain fit
to all entries. At 0 % the fit with a mask is compared with the plain fit bit for bit. The last
table keeps half of the components fixed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from benchmarks.speed.matrices import planted

from provenmf import HALS
from provenmf.datasets.cubes import mixed_cube
from provenmf.metrics.matching import match_components

SHARES = (0.1, 0.3, 0.5)


def generated(quick):
    """(name, data, true components or None, number)."""
    rng = np.random.default_rng(0)
    weights, components = rng.gamma(0.5, size=(300, 5)), rng.gamma(0.5, size=(5, 60))
    noisy = weights @ components
    noisy = np.maximum(noisy + 0.05 * noisy.std() * rng.standard_normal(noisy.shape), 0)
    yield "gamma product", noisy, components, 5
    yield "counts", rng.poisson(4 * weights @ components).astype(float), components, 5
    cube = mixed_cube(20, 20, 60, 3, snr=30, random_state=0)
    yield "cube", np.maximum(cube.cube.reshape(400, -1), 0), cube.endmembers, 3
    if not quick:
        yield "planted, half zeros", planted(400, 100, 8), None, 8


def real(folder):
    samson = np.load(folder / "hyperspectral/samson.npz")
    yield "Samson", samson["Y"].T[::9].astype(float), samson["E"].T.astype(float), 3
    swimmer = np.load(folder / "swimmer/swimmer.npz")
    yield "swimmer", swimmer["X"].T.astype(float), None, 14
    amino = np.maximum(np.load(folder / "amino_acids/amino_acids.npz")["X"], 0)
    pure = np.array([np.linalg.svd(x)[2][0] for x in amino[:3]])
    yield "amino acids", amino[3], np.abs(pure), 3


def cosine(found, truth):
    return "-" if truth is None else f"{match_components(found, truth).cosines.mean():.3f}"


def error(data, rebuilt, where):
    return np.linalg.norm((data - rebuilt)[where]) / np.linalg.norm(data[where])


def compare(name, data, truth, k):
    whole = HALS(k, random_state=0, certify=False).fit(data)
    for share in SHARES:
        hidden = np.random.default_rng(1).random(data.shape) < share
        gaps = np.where(hidden, np.nan, data)
        started = time.process_time()
        model = HALS(k, random_state=0, certify=False)
        rebuilt = model.fit_transform(gaps) @ model.components_
        seconds = time.process_time() - started
        means = np.broadcast_to(np.nanmean(gaps, axis=0), data.shape)
        plain = HALS(k, random_state=0, certify=False)
        filled = plain.fit_transform(np.where(hidden, means, data)) @ plain.components_
        print(
            f"{name:20} {share:4.0%}{error(data, rebuilt, ~hidden):10.4f}"
            f"{error(data, rebuilt, hidden):9.4f}{error(data, filled, hidden):9.4f}"
            f"{error(data, means, hidden):9.4f}{cosine(model.components_, truth):>12}"
            f"{cosine(plain.components_, truth):>8}{cosine(whole.components_, truth):>8}"
            f"{seconds:8.2f}",
            flush=True,
        )


def known_parts(name, data, truth, k):
    if truth is None:
        return
    given = truth[: k // 2]
    model = HALS(k, known_components=given, random_state=0, certify=False).fit(data)
    free = HALS(k, random_state=0, certify=False).fit(data)
    kept = np.array_equal(model.components_[: k // 2], given)
    size = np.linalg.norm(data)
    print(
        f"{name:20} {k // 2} of {k} kept exactly: {kept}; others' cosine "
        f"{cosine(model.components_[k // 2 :], truth[k // 2 :])} "
        f"(all free: {cosine(free.components_, truth)}); error "
        f"{model.reconstruction_err_ / size:.4f} (all free: {free.reconstruction_err_ / size:.4f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer data sets")
    parser.add_argument("--data", type=Path, help="directory of real data, used too")
    options = parser.parse_args()
    problems = list(generated(options.quick)) + (list(real(options.data)) if options.data else [])
    print(
        f"{'':25}{'observed':>10}{'hidden':>9}{'filled':>9}{'means':>9}{'components':>12}"
        f"{'filled':>8}{'whole':>8}{'CPU s':>8}"
    )
    for problem in problems:
        compare(*problem)
    print()
    for problem in problems:
        known_parts(*problem)


if __name__ == "__main__":
    main()
