"""Angle to the true components over the purity of rows and noise: MinVol, SPA, MERIT, HALS, peers.

Drawn mixtures of 500 x 50 with four components. No row has a weight above the purity. "best" is
the best angle on a grid of penalties, chosen knowing the truth. `--peers` adds two packages that
minimize the divergence plus a volume: nn_fac (its least-squares routine fails), and the mvNMF of
MuSiCal as `pip install salamander-learn` has it (MuSiCal itself is not on PyPI, whose "musical" is
another project). Neither chooses a penalty, so both get the best one of a grid. `--unseen` asks
whether unseen rows tell MinVol and the truth from HALS: weights are fitted to half of their columns
and predict the others.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.optimize import nnls

from provenmf import HALS, MERIT, SPA, MinVol
from provenmf.metrics.matching import match_components


def drawn(purity, noise, seed, n=500, d=50, k=4):
    rng = np.random.default_rng(seed)
    components = rng.gamma(0.5, size=(k, d))
    components = components + 0.3 * components.mean(axis=0)
    components /= components.sum(axis=1, keepdims=True)
    weights = rng.dirichlet([0.5] * k, 200 * n)
    weights = weights[weights.max(axis=1) <= purity][:n]
    clean = weights @ components
    noisy = clean + noise * np.sqrt(np.mean(clean**2)) * rng.standard_normal(clean.shape)
    return np.maximum(noisy, 0), components


def angle(found, true):
    return np.degrees(np.arccos(np.clip(match_components(found, true).cosines, -1, 1))).mean()


def min_vol(X, penalty):
    return MinVol(4, penalty=penalty, certify=False).fit(X).components_


def nn_fac(X, penalty):
    from nn_fac.min_vol_nmf import minvol_beta_nmf

    return minvol_beta_nmf(X.T + 1e-12, 4, 1, n_iter_max=1000, lambda_init=penalty)[0].T


def salamander(X, penalty):
    from anndata import AnnData
    from salamander.models.mvnmf import MvNMF

    model = MvNMF(4, lam=penalty * X.sum(), max_iterations=2000)
    model.fit(AnnData(X + 1e-12))
    return np.asarray(model.asignatures.X)


PEERS = {
    "nn_fac": (nn_fac, 10.0 ** np.arange(-7, -2)),
    "mvNMF": (salamander, 10.0 ** np.arange(-6, -1)),
}


def prediction_errors(rows, components):
    rng = np.random.default_rng(2)
    errors = []
    for row in rows:
        seen = rng.permutation(len(row)) < len(row) // 2
        weights = nnls(components[:, seen].T, row[seen])[0]
        errors.append(((row[~seen] - weights @ components[:, ~seen]) ** 2).sum())
    return np.array(errors)


def dense_weights(seed, n=500, d=50, k=4):
    rng = np.random.default_rng(seed)
    components = rng.gamma(0.3, size=(k, d))
    clean = rng.random((n, k)) @ components
    return np.maximum(clean + 0.05 * rng.standard_normal(clean.shape), 0), components


def unseen() -> None:
    problems = {
        f"purity {purity} noise {noise} seed {seed}": drawn(purity, noise, seed)
        for purity in (0.6, 0.8, 1.0)
        for noise in (0.01, 0.05)
        for seed in (10, 11, 12, 13)
    }
    problems["sparse components, dense weights"] = dense_weights(0)
    for name, (X, true) in problems.items():
        half = np.random.default_rng(1).permutation(len(X))[: len(X) // 2]
        methods = HALS(4, certify=False, random_state=0), MinVol(4, certify=False)
        found = [method.fit(X[half]).components_ for method in methods]
        errors = [prediction_errors(np.delete(X, half, axis=0), c) for c in (*found, true)]
        gains = [errors[0] - other for other in errors[1:]]
        standard = [gain.mean() / (gain.std() / np.sqrt(len(gain))) for gain in gains]
        angles = [angle(components, true) for components in found]
        print(
            f"{name}: HALS {angles[0]:.2f}, MinVol {angles[1]:.2f} degrees; MinVol predicts better "
            f"by {standard[0]:.1f} standard errors, the truth by {standard[1]:.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--purity", type=float, nargs="+", default=[0.6, 0.7, 0.8, 0.9, 1.0])
    parser.add_argument("--best", action="store_true", help="also the best penalty of a grid")
    parser.add_argument("--peers", action="store_true", help="also nn_fac and mvNMF")
    parser.add_argument("--unseen", action="store_true", help="do unseen rows prefer MinVol?")
    options = parser.parse_args()
    if options.unseen:
        unseen()
        return
    methods = {
        "MinVol": lambda: MinVol(4, certify=False),
        "SPA": lambda: SPA(4, certify=False),
        "MERIT": lambda: MERIT(4, certify=False, random_state=0),
        "HALS": lambda: HALS(4, certify=False, random_state=0),
    }
    for purity in options.purity:
        for noise in (0.0, 0.01, 0.05):
            said = []
            problems = [drawn(purity, noise, seed) for seed in range(options.seeds)]
            for name, make in methods.items():
                started = time.process_time()
                angles = [angle(make().fit(X).components_, true) for X, true in problems]
                seconds = (time.process_time() - started) / len(problems)
                said.append(f"{name} {np.mean(angles):.2f} ({seconds:.2f} s)")
            grids = PEERS if options.peers else {}
            if options.best:
                grids = {"MinVol": (min_vol, 10.0 ** np.arange(-7, -1.5, 0.5)), **grids}
            for name, (fit, grid) in grids.items():
                started = time.process_time()
                trials = [[angle(fit(X, p), true) for p in grid] for X, true in problems]
                seconds = (time.process_time() - started) / len(problems) / len(grid)
                best = np.min(trials, axis=1).mean()
                said.append(f"{name}, best penalty {best:.2f} ({seconds:.2f} s)")
            print(f"purity {purity} noise {noise}: {', '.join(said)}", flush=True)


if __name__ == "__main__":
    main()
