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
from benchmarks.recovery import rank_problems as models
from benchmarks.recovery.rank_problems import ROWS, generated, with_noise

from provenmf.advice.number import settled_number
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import InvalidInput

NOISE = (0.0, 0.003, 0.03)


def counts(k, noise, rng):
    return models.poisson_counts(k, 1 / max(noise, 1e-4) ** 2, rng)


def separable(k, noise, rng):
    return with_noise(models.separable(k, np.inf, rng), noise, rng)


def corpus(k, noise, rng):
    length = min(1 / max(noise, 0.01) ** 2, 10_000)
    made = topic_corpus(ROWS, 120, k, words_per_document=length, random_state=rng)
    return made.counts.toarray().astype(float)


def cube(k, noise, rng):
    return models.cube(k, -20 * np.log10(max(noise, 1e-4)), rng)


def uneven(k, noise, rng):
    weights, components = models.factors(k, rng)
    sizes = np.exp(rng.normal(size=(ROWS, 1))), np.exp(rng.normal(size=(k, 1)))
    return with_noise(sizes[0] * weights @ (sizes[1] * components), noise, rng)


KINDS = (models.gamma_product, counts, separable, models.cones, models.and_topics)
KINDS += (models.purification, corpus, cube, uneven)


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
