"""The defaults of MERIT and AND on the papers' own kinds of data, beside the papers' settings.

`number`: how often MERIT() without a number finds it, and all anchors. `gaussian`: all anchors
found among middle points in Gaussian noise, with the number given. `auto`: the number that
`factorize` finds with negative entries set to zero, what it chooses if given the number, and its
mean removed spectral angle (0 to 100) beside those of MERIT and SPA. `and`: total correlation
error of the start, of AND(init=start) and of Algorithm 1 with T = 50, η = 0.5/k and 200 stages.

    python -m benchmarks.recovery.paper_data number gaussian and --first-seed 9000
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np

from provenmf import AND, MERIT, factorize
from provenmf.datasets import and_descent as topics
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.metrics.recovery import (
    mean_removed_spectral_angle,
    success,
    total_correlation_error,
)
from provenmf.reproduce.merit import METHODS, fit_anchors

warnings.simplefilter("ignore")  # refusals and stalls are counted


def in_gaussian_noise(snr, seed):
    """Return middle points with noise of the same size in every row."""
    sample = middle_points(random_state=seed)
    noise = np.random.default_rng([seed, 1]).standard_normal(sample.data.shape)
    size = np.linalg.norm(sample.data) / np.linalg.norm(noise) * 10 ** (-snr / 20)
    return replace(sample, data=sample.data + size * noise)


NUMBERS = {
    **{f"Fig. 2, {snr} dB": lambda s, snr=snr: middle_points(snr=snr, random_state=s)
       for snr in (12, 20, 40)},
    **{f"Gaussian, {snr} dB": lambda s, snr=snr: in_gaussian_noise(snr, s) for snr in (15, 20)},
    **{f"Table I, K = {k}": lambda s, k=k: dirichlet_mixtures(200, 80, k, snr=10, random_state=s)
       for k in (40, 60)},
}  # fmt: skip


def number(seeds):
    for name, draw in NUMBERS.items():
        right = found = every = refused = 0
        started = time.process_time()
        for seed in seeds:
            sample = draw(seed)
            try:
                anchors = MERIT(certify=False, random_state=seed).fit(sample.data).anchors_
            except ValueError:
                refused += 1
                continue
            right += len(anchors) == sample.n_components
            found += success(anchors, sample.anchors)
            every += len(anchors) == len(sample.data)
        seconds = (time.process_time() - started) / len(seeds)
        counts = f"number right {right}, anchors right {found}, refused {refused}, all rows {every}"
        print(f"{name}: {counts} of {len(seeds)}; {seconds:.1f} s", flush=True)


def gaussian(seeds):
    for snr in (10, 12, 15):
        counts = dict.fromkeys(METHODS, 0)
        for seed in seeds:
            sample = in_gaussian_noise(snr, seed)
            for name, method in METHODS.items():
                anchors = fit_anchors(method, sample.data, sample.n_components, seed)
                counts[name] += bool(success(anchors, sample.anchors))
        print(f"Gaussian, {snr} dB, of {len(seeds)}: {counts}", flush=True)


def auto(seeds):
    for name, draw in NUMBERS.items():
        numbers, chosen, angles = Counter(), Counter(), []
        for seed in seeds:
            sample = draw(seed)
            k = sample.n_components
            if sample.data.min() < 0:
                chosen["negative entries"] += 1  # of the noise, which HALS refuses
            data = np.maximum(sample.data, 0)
            try:
                number = len(factorize(data, random_state=seed).components)
                numbers["right" if number == k else "wrong"] += 1
            except ValueError:
                numbers["refused"] += 1
            found = factorize(data, k, random_state=seed)
            chosen[found.method] += 1
            rows = [fit_anchors(METHODS[m], sample.data, k, seed) for m in ("our MERIT", "SPA")]
            components = [found.components, *(sample.data[r] for r in rows)]
            angles.append([mean_removed_spectral_angle(c, sample.components) for c in components])
        medians = ", ".join(f"{angle:.3g}" for angle in np.median(angles, axis=0))
        print(f"{name}, of {len(seeds)}: number {dict(numbers)}; with the number {dict(chosen)}, "
              f"median angles of factorize, MERIT, SPA: {medians}", flush=True)  # fmt: skip


def and_cases(seed, k=40, n=2000, d=200):
    """Yield names and samples."""
    truth = topics.topic_components(k, d, random_state=seed)
    options = {"random_state": seed}
    for total in (1, 20, 40, 80):
        yield (
            f"Dirichlet, total {total}",
            topics.sample_dirichlet(n, truth, concentration=total / k, **options),
        )
    for noise in (0.0, 0.005, 0.05):
        yield (
            f"CTM, noise {noise}",
            topics.sample_fresh_covariance(n, truth, noise_level=noise, **options),
        )
    yield "CTM, one covariance", topics.sample_logistic_normal(n, truth, **options)
    yield "NEG", topics.sample_signed(n, n_components=k, n_columns=d, **options)
    binary = topics.sample_sparse_binary(n, truth, **options)
    noise = np.random.default_rng([seed, 2]).standard_normal(binary.data.shape) / np.sqrt(d)
    length = np.median(np.linalg.norm(truth, axis=1))
    for share in (0.0, 0.01, 0.1, 0.3):
        data = binary.data + share * length * noise
        yield f"binary, noise {share}", replace(binary, data=data)
    weights = np.where(binary.weights > 0, 1.0, 1.0 / k)
    yield "Section 6.1", replace(binary, data=weights @ truth, weights=weights)


def and_descent(seeds):
    paper = {"schedule": "paper", "n_steps": 50, "scale_rows": False, "max_iter": 200, "tol": 0.0}
    for seed in seeds[:2]:
        for name, sample in and_cases(seed):
            start = topics.start_nearby(sample.components, random_state=seed)
            errors = [total_correlation_error(start, sample.components)]
            for options in ({}, paper):
                model = AND(init=start, certify=False, **options).fit(sample.data)
                errors.append(total_correlation_error(model.components_, sample.components))
            print(f"{seed}, {name}: start, default, paper", *(f"{e:.3g}" for e in errors),
                  "WORSE" if errors[1] > 1.01 * min(errors) and errors[1] > 1e-8 else "",
                  flush=True)  # fmt: skip


TABLES = {"number": number, "gaussian": gaussian, "auto": auto, "and": and_descent}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES)
    parser.add_argument("--first-seed", type=int, default=9000)
    parser.add_argument("--trials", type=int, default=20)
    given = parser.parse_args()
    for table in given.tables:
        TABLES[table](range(given.first_seed, given.first_seed + given.trials))
