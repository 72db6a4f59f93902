"""How often a number of components that is not given is right, wrong or refused.

Nine kinds of matrices (150 × 40, numbers 2 to 7), each at three levels of noise: the models of
`rank_problems.py`, cleaner than there, and two that mislead drops of a sequence: rows and
components of very different sizes; and the noisier problems of `choose_rank.py`. Judged is
`settled_number` (what `fit` and `factorize` ask). Its thresholds were chosen on seeds 500 to 504;
the default are others.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import numpy as np
from benchmarks.recovery.rank_problems import COLUMNS, ROWS, generated, with_noise

from provenmf.advice.number import settled_number
from provenmf.data import as_blocks
from provenmf.datasets.and_descent import sample_dirichlet, topic_components
from provenmf.datasets.cones import paper_cones
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.datasets.purification import sample_purification
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import InvalidInput

NOISE = (0.0, 0.003, 0.03)


def factors(k, rng):
    """Gamma weights and components."""
    return rng.gamma(0.5, size=(ROWS, k)), rng.gamma(0.5, size=(k, COLUMNS))


def gamma_product(k, noise, rng):
    weights, components = factors(k, rng)
    return with_noise(weights @ components, noise, rng)


def poisson_counts(k, noise, rng):
    weights, components = factors(k, rng)
    mean = weights @ components
    return rng.poisson(mean / mean.mean() / max(noise, 1e-4) ** 2).astype(float)


def separable(k, noise, rng):
    made = dirichlet_mixtures(ROWS, COLUMNS, k, snr=np.inf, random_state=rng)
    return with_noise(np.maximum(made.data, 0), noise, rng)


def cones(k, noise, rng):
    made = paper_cones(ROWS, n_components=k, n_columns=COLUMNS, random_state=rng)
    return with_noise(made.data, noise, rng)


def and_topics(k, noise, rng):
    made = sample_dirichlet(ROWS, topic_components(k, COLUMNS, random_state=rng), random_state=rng)
    return with_noise(made.data, noise, rng)


def purification(k, noise, rng):
    return with_noise(sample_purification(ROWS, COLUMNS, k, random_state=rng).data, noise, rng)


def corpus(k, noise, rng):
    length = min(1 / max(noise, 0.01) ** 2, 10_000)
    made = topic_corpus(ROWS, 120, k, words_per_document=length, random_state=rng)
    return made.counts.toarray().astype(float)


def cube(k, noise, rng):
    snr = -20 * np.log10(max(noise, 1e-4))
    return np.maximum(mixed_cube(12, 12, 50, k, snr=snr, random_state=rng).cube.reshape(144, -1), 0)


def uneven(k, noise, rng):
    weights, components = factors(k, rng)
    sizes = np.exp(rng.normal(size=(ROWS, 1))), np.exp(rng.normal(size=(k, 1)))
    return with_noise(sizes[0] * weights @ (sizes[1] * components), noise, rng)


KINDS = (gamma_product, poisson_counts, separable, cones, and_topics, purification, corpus, cube)
KINDS += (uneven,)


def problems(seeds):
    """(name, matrix, number) for each kind, level of noise and seed."""
    for place, make in enumerate(KINDS):
        for level, noise in enumerate(NOISE):
            for seed in seeds:
                rng = np.random.default_rng([place, level, seed])
                k = int(rng.integers(2, 8))
                data = make(k, noise, rng)
                if noise == 0:  # a feature that no row drew is not in the data
                    k = min(k, int(np.linalg.matrix_rank(data)))
                yield f"{make.__name__}, noise {noise:g}, {seed}", data, k


def outcome(number, truth):
    return "refused" if number is None else "right" if number == truth else "wrong"


def settled(blocks):
    """The number that `fit` would take, or None."""
    try:
        return settled_number(blocks)[0]
    except InvalidInput:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), metavar=("FIRST", "AFTER"))
    chosen = parser.parse_args()
    seeds = range(1) if chosen.quick else range(*chosen.seeds)
    for title, made in (("clean", problems(seeds)), ("noisy", generated(seeds))):
        table: Counter[str] = Counter()
        for name, data, truth in made:
            number = settled(as_blocks(data))
            found = outcome(number, truth)
            table[found] += 1
            if found == "wrong":
                print(f"{name}: true {truth}, settled {number}")
        print(title, dict(table))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
