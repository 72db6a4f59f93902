"""Data of which too many components are asked for, to count false confirmations.

Each kind returns the data, the number of components to fit, how many of them can be real, and
whether they are counts. Where columns are independent given the size of a row, one can be: the
mean row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import datasets

Floats = NDArray[np.float64]
Null = tuple[Floats, int, int, bool]
Draw = Callable[[np.random.Generator, int], Null]
D, TRUE = 20, 3


def rows(seed: int) -> int:
    """Return 200 rows, 1000 for every fifth data set: false components need power to be seen."""
    return 1000 if seed % 5 == 4 else 200


def more_than_true(seed: int, true: int = TRUE) -> int:
    """Return 1, 2 or 5 components more than there are."""
    return true + (1, 2, 5)[seed % 3]


def profiles(rng: np.random.Generator, k: int, d: int = D) -> Floats:
    return rng.dirichlet(np.full(d, 0.3), k)


def drawn(rng: np.random.Generator, n: int, d: int, H: Floats, counts: bool) -> Floats:
    """Rows from the components H: Poisson counts of 60 a row, or with Gaussian noise."""
    mean = rng.dirichlet(np.full(len(H), 0.5), n) @ H
    if counts:
        return rng.poisson(60 * mean).astype(float)
    return np.maximum(d * mean + 0.1 * rng.standard_normal((n, d)), 0)


def independent(rng: np.random.Generator, n: int, counts: bool, d: int = D) -> Floats:
    """Independent columns, each with a mean and noise of its own."""
    mean = rng.gamma(2.0, 2.0, d)
    if counts:
        return rng.poisson(mean, (n, d)).astype(float)
    return np.maximum(mean + rng.standard_normal((n, d)) * np.exp(rng.standard_normal(d)), 0)


# Independent rows


def no_structure(rng: np.random.Generator, seed: int) -> Null:
    """Independent columns with means and noise of their own, with and without sizes of rows."""
    n = rows(seed)
    size = rng.gamma(4.0, 0.25, (n, 1)) if seed % 4 > 1 else np.ones((n, 1))
    mean = rng.gamma(2.0, 2.0, D)
    if seed % 2:
        return rng.poisson(size * mean).astype(float), 3, 1, True
    noise = rng.standard_normal((n, D)) * np.exp(rng.standard_normal(D))
    return np.maximum(size * (mean + noise), 0), 3, 1, False


def too_many(more: int) -> Draw:
    def draw(rng: np.random.Generator, seed: int) -> Null:
        counts = bool(seed % 2)
        return drawn(rng, rows(seed), D, profiles(rng, TRUE), counts), TRUE + more, TRUE, counts

    return draw


def duplicated(rng: np.random.Generator, seed: int) -> Null:
    """Two of four components are the same."""
    H, counts = profiles(rng, TRUE), bool(seed % 2)
    return drawn(rng, rows(seed), D, np.vstack([H, H[:1]]), counts), TRUE + 1, TRUE, counts


def heavy_tails(rng: np.random.Generator, seed: int) -> Null:
    """Independent entries without variance: Cauchy, or lognormal."""
    scale, shape = rng.gamma(2.0, 1.0, D), (rows(seed), D)
    if seed % 2:
        return np.abs(rng.standard_cauchy(shape)) * scale, 3, 1, False
    return np.exp(1.5 * rng.standard_normal(shape)) * scale, 3, 1, False


def overdispersed(rng: np.random.Generator, seed: int) -> Null:
    """Negative binomial counts, independent, from 3 to 300 an entry.

    Each column has its own dispersion in half of the data sets.
    """
    size = np.exp(rng.standard_normal(D if seed % 2 else 1))
    mean = 10.0 ** (seed % 3) * rng.gamma(1.0, 3.0, D) * rng.gamma(size, 1 / size, (rows(seed), D))
    return rng.poisson(mean).astype(float), 3, 1, True


def rare_noise(rng: np.random.Generator, seed: int) -> Null:
    """Two components, and large noise in 1 % of the rows, another one in each."""
    counts, n = bool(seed % 2), 2 * rows(seed)
    X = drawn(rng, n, D, profiles(rng, 2), counts)
    odd = rng.choice(n, n // 100, replace=False)
    noise = 5 * X.sum(axis=1).mean() * rng.dirichlet(np.full(D, 0.3), len(odd))
    X[odd] += rng.poisson(noise) if counts else noise
    return X, 3, 2, counts


def dominated(rng: np.random.Generator, seed: int) -> Null:
    """One component has nine tenths of everything; 1, 2 or 5 too many are asked for."""
    counts, n, H = bool(seed % 2), rows(seed), profiles(rng, TRUE)
    mean = (rng.dirichlet(np.full(TRUE, 0.5), n) * [18.0, 1.0, 1.0]) @ H
    noise = 0.1 * rng.standard_normal((n, D))
    X = rng.poisson(20 * mean).astype(float) if counts else np.maximum(mean + noise, 0)
    return X, more_than_true(seed), TRUE, counts


def dense_profiles(rng: np.random.Generator, seed: int) -> Null:
    """Components without small entries; 1, 2 or 5 too many are asked for.

    Nonnegative components can lie outside of the cone of the true ones, so that more of them are
    needed beside each other than there are.
    """
    counts, n = bool(seed % 2), rows(seed)
    H = np.exp(0.7 * rng.standard_normal((TRUE, D)))
    X = drawn(rng, n, D, H / H.sum(axis=1, keepdims=True), counts)
    return X, more_than_true(seed), TRUE, counts


def unequal_columns(rng: np.random.Generator, seed: int) -> Null:
    """Two components, and noise whose size varies a hundredfold between columns."""
    n = rows(seed)
    mean = D * rng.dirichlet(np.full(2, 0.5), n) @ profiles(rng, 2)
    noise = rng.standard_normal((n, D)) * 10.0 ** rng.uniform(-1.5, 0.5, D)
    return np.maximum(mean + noise, 0), 3 + seed % 3, 2, False


def zero_inflated(rng: np.random.Generator, seed: int) -> Null:
    """Independent negative binomial counts, most of them replaced by zeros."""
    share, shape = rng.uniform(0.3, 0.95, D), (rows(seed), D)
    mean = rng.gamma(1.0, 10.0, D) * rng.gamma(0.7, 1 / 0.7, shape)
    return rng.poisson(mean * (rng.random(shape) > share)).astype(float), 2 + seed % 3, 1, True


def rounded(rng: np.random.Generator, seed: int) -> Null:
    """Mixtures of three, rounded to few whole numbers."""
    X = drawn(rng, rows(seed), D, profiles(rng, TRUE), False)
    return np.round(X), TRUE + 1 + seed % 2, TRUE, bool(seed % 4 > 1)


def few_rows(rng: np.random.Generator, seed: int) -> Null:
    """From 20 to 40 rows, without structure or with two components."""
    n, counts = int(rng.integers(20, 41)), bool(seed % 2)
    if seed % 4 > 1:
        return drawn(rng, n, D, profiles(rng, 2), counts), 4, 2, counts
    return independent(rng, n, counts), 2, 1, counts


def many_columns(rng: np.random.Generator, seed: int) -> Null:
    """2000 columns of rare counts, or of noise around a mean."""
    counts = bool(seed % 2)
    if counts:
        return rng.poisson(rng.gamma(0.5, 0.2, 2000), (100, 2000)).astype(float), 3, 1, True
    return independent(rng, 100, False, 2000), 3, 1, False


def few_columns(rng: np.random.Generator, seed: int) -> Null:
    """Three to five columns."""
    counts, d = bool(seed % 2), 3 + seed % 3
    return independent(rng, rows(seed), counts, d), min(d - 1, 3), 1, counts


def one_flat(rng: np.random.Generator, seed: int) -> Null:
    """All columns alike and one component: it says nothing."""
    n, counts = rows(seed), bool(seed % 2)
    size = rng.gamma(4.0, 1.0, (n, 1))
    if counts:
        return rng.poisson(size, (n, D)).astype(float), 1, 0, True
    return size * rng.gamma(2.0, 1.0, (n, D)), 1, 0, False


def binary(rng: np.random.Generator, seed: int) -> Null:
    """Independent zeros and ones, mostly zeros."""
    share = rng.beta(1.0, 15.0, 60)
    return (rng.random((rows(seed), 60)) < share).astype(float), 3, 1, bool(seed % 2)


# Columns that depend on each other


def one_hot(rng: np.random.Generator, seed: int) -> Null:
    """Six independent questions with four answers each, a column for every answer."""
    n, share = rows(seed), rng.dirichlet(np.ones(4), 6)
    X = np.concatenate([np.eye(4)[rng.choice(4, n, p=p)] for p in share], axis=1)
    return X, 3, 1, bool(seed % 2)


def smooth(rng: np.random.Generator, seed: int) -> Null:
    """Spectra with noise that is shared by about five neighboring channels."""
    n, channels = rows(seed), np.arange(40)
    kernel = np.exp(-0.5 * ((channels[:, None] - channels) / 2.5) ** 2)
    noise = rng.standard_normal((n, 40)) @ (kernel / np.linalg.norm(kernel, axis=0))
    return np.maximum(5 + np.sin(channels / 6) + 0.5 * noise, 0), 3, 1, False


def proportional(rng: np.random.Generator, seed: int) -> Null:
    """Ten independent columns, each beside a copy in another unit."""
    X = independent(rng, rows(seed), False, 10)
    copies = X * rng.uniform(0.5, 2.0, 10) + 0.01 * rng.standard_normal(X.shape)
    return np.maximum(np.concatenate([X, copies], axis=1), 0), 3, 1, False


# Kinds that an adversary would try


def sums_of_columns(rng: np.random.Generator, seed: int) -> Null:
    """Four independent columns and noisy sums of every two, three and four of them."""
    n = rows(seed)
    own = rng.gamma(2.0, 1.0, (n, 4)) * rng.gamma(2.0, 1.0, 4)
    sets = np.array([[bits >> j & 1 for j in range(4)] for bits in range(1, 16)], dtype=float)
    X = own @ sets.T
    X = np.maximum(X + 0.1 * X.std(axis=0) * rng.standard_normal(X.shape), 0)
    return X, more_than_true(seed, 4), 4, False


def mixed_scales(rng: np.random.Generator, seed: int) -> Null:
    """Three components in columns of units a million apart, in rows of sizes a thousand apart."""
    n = rows(seed)
    X = drawn(rng, n, D, profiles(rng, TRUE), False)
    scaled = X * 10.0 ** rng.uniform(-3, 3, D) * 10.0 ** rng.uniform(-1.5, 1.5, (n, 1))
    return scaled, more_than_true(seed), TRUE, False


def sparse_counts(rng: np.random.Generator, seed: int) -> Null:
    """Three components, ten counts a row in 60 columns."""
    mean = rng.dirichlet(np.full(TRUE, 0.5), rows(seed)) @ profiles(rng, TRUE, 60)
    return rng.poisson(10 * mean).astype(float), more_than_true(seed), TRUE, True


def dropout(rng: np.random.Generator, seed: int) -> Null:
    """Three components, of which shares of 30 to 90 % of the entries of a row are lost."""
    n, counts = rows(seed), bool(seed % 2)
    X = drawn(rng, n, D, profiles(rng, TRUE), counts)
    X *= rng.random(X.shape) > rng.uniform(0.3, 0.9, (n, 1))
    return X, more_than_true(seed), TRUE, counts


def correlated_noise(rng: np.random.Generator, seed: int) -> Null:
    """Three components, and noise whose columns are correlated at random, by .2 on average."""
    n = rows(seed)
    mean = D * rng.dirichlet(np.full(TRUE, 0.5), n) @ profiles(rng, TRUE)
    noise = rng.standard_normal((n, 25)) @ rng.standard_normal((25, D)) / 5
    return np.maximum(mean + 0.1 * noise, 0), more_than_true(seed), TRUE, False


def six_components(rng: np.random.Generator, seed: int) -> Null:
    """Six components in 60 columns."""
    counts = bool(seed % 2)
    X = drawn(rng, rows(seed), 60, profiles(rng, 6, 60), counts)
    return X, more_than_true(seed, 6), 6, counts


def pareto_sizes(rng: np.random.Generator, seed: int) -> Null:
    """Two components in rows whose sizes have no mean."""
    n, counts = rows(seed), bool(seed % 2)
    size = 1 + rng.pareto(1.0, (n, 1))
    mean = 20 * size * (rng.dirichlet(np.full(2, 0.5), n) @ profiles(rng, 2))
    X = rng.poisson(mean).astype(float) if counts else mean * rng.gamma(25.0, 0.04, (n, D))
    return X, more_than_true(seed, 2), 2, counts


def spikes(rng: np.random.Generator, seed: int) -> Null:
    """One profile, and in each row one random column twenty times as large."""
    n, counts = rows(seed), bool(seed % 2)
    mean = np.tile(rng.gamma(2.0, 2.0, D), (n, 1))
    mean[np.arange(n), rng.integers(D, size=n)] *= 20
    X = rng.poisson(mean).astype(float) if counts else mean * rng.gamma(25.0, 0.04, (n, D))
    return X, more_than_true(seed, 1), 1, counts


def shares(rng: np.random.Generator, seed: int) -> Null:
    """Dirichlet shares of one profile, and Dirichlet-multinomial counts: columns exclude others."""
    n, counts = rows(seed), bool(seed % 2)
    X = rng.dirichlet(rng.gamma(1.0, 1.0, D) + 0.05, n)
    return rng.multinomial(50, X).astype(float) if counts else X, more_than_true(seed, 1), 1, counts


def rankings(rng: np.random.Generator, seed: int) -> Null:
    """Places of twelve items of unequal worth, each row a ranking of its own."""
    X = rng.gumbel(size=(rows(seed), 12)) + rng.standard_normal(12)
    return X.argsort(axis=1).argsort(axis=1).astype(float), more_than_true(seed, 1), 1, False


def answers(rng: np.random.Generator, seed: int) -> Null:
    """Answers from 1 to 5 by people who agree to different degrees and to nothing in particular."""
    agreement = rng.standard_normal((rows(seed), 1)) + rng.standard_normal(15)
    X = np.clip(np.round(3 + agreement + rng.standard_normal((rows(seed), 15))), 1, 5)
    return X, 2 + seed % 3, 2, bool(seed % 2)


# Rows that depend on each other, though no groups are named


def recurring(period: int, *, in_order: bool) -> Draw:
    """Rows without structure that come back after a period, or in any order, a little changed."""

    def draw(rng: np.random.Generator, seed: int) -> Null:
        counts, n = bool(seed % 2), rows(seed)
        X = np.tile(independent(rng, period, counts), (-(-n // period), 1))[:n]
        X = X + 0.2 * X.std(axis=0) * rng.standard_normal(X.shape)
        X = X if in_order else rng.permutation(X)
        return np.maximum(np.round(X) if counts else X, 0), 3, 1, counts

    return draw


def copies(times: int, noise: float) -> Draw:
    """Rows without structure and copies of each, with noise relative to how much they differ."""

    def draw(rng: np.random.Generator, seed: int) -> Null:
        counts = bool(seed % 2)
        X = np.repeat(independent(rng, rows(seed) // times, counts), times, axis=0)
        X = X + noise * X.std(axis=0) * rng.standard_normal(X.shape)
        return np.maximum(np.round(X) if counts else X, 0), 3, 1, counts

    return draw


def a_walk(rng: np.random.Generator, seed: int) -> Null:
    """Rows that follow each other in time and hardly change from one to the next."""
    noise = rng.standard_normal((rows(seed), D))
    for before, now in zip(noise, noise[1:]):
        now *= 0.2
        now += 0.98 * before
    return np.maximum(rng.gamma(2.0, 2.0, D) + noise, 0), 3, 1, False


def a_shuffled_walk(rng: np.random.Generator, seed: int) -> Null:
    """The rows of a walk in random order."""
    X, *asked = a_walk(rng, seed)
    return rng.permutation(X), *asked


def batches(rng: np.random.Generator, seed: int) -> Null:
    """Four batches with columns scaled by factors of their own, which are real; six asked for."""
    counts, n = bool(seed % 2), rows(seed)
    mean = rng.gamma(2.0, 5.0, D) * np.exp(0.5 * rng.standard_normal((4, D)))
    mean = mean[rng.integers(0, 4, n)] * rng.gamma(4.0, 0.25, (n, 1))
    X = rng.poisson(mean).astype(float) if counts else mean * rng.gamma(20.0, 0.05, mean.shape)
    return X, 6, 4, counts


def shuffled(folder: Path | None) -> Draw:
    """Rows drawn from real data, with columns permuted one by one."""
    real = {name: getattr(datasets, f"load_{name}")().data for name in SHUFFLED}
    if folder is not None:
        real["signatures"] = np.load(folder / "mutational_signatures/scenario8.npz")["X"].T
        real["pcawg"] = np.load(folder / "mutational_signatures/pcawg.npz")["X"].T
        real["samson"] = np.load(folder / "hyperspectral/samson.npz")["Y"].T
        words = sp.load_npz(folder / "bbc_news/counts.npz").tocsc()
        most = np.sort(np.argsort(-np.asarray(words.sum(axis=0)).ravel())[:300])
        real["bbc"] = words[:, most].toarray()

    def draw(rng: np.random.Generator, seed: int) -> Null:
        X = real[sorted(real)[seed % len(real)]].astype(float)
        X = X[rng.choice(len(X), min(rows(seed), len(X)), replace=False)]
        X = X[:, X.any(axis=0)]
        counts = bool((X == np.floor(X)).all())
        return rng.permuted(X, axis=0), 3 if X.shape[1] > 4 else 2, 1, counts

    return draw


SHUFFLED = ("iris", "wine", "digits", "breast_cancer")


def kinds(folder: Path | None) -> dict[str, Draw]:
    """Return all kinds by name."""
    return {
        "no structure": no_structure,
        "k too large by 1": too_many(1),
        "k too large by 2": too_many(2),
        "k too large by 5": too_many(5),
        "duplicated component": duplicated,
        "heavy tails": heavy_tails,
        "overdispersed counts": overdispersed,
        "noise in 1 % of rows": rare_noise,
        "shuffled real data": shuffled(folder),
        "a dominating component": dominated,
        "dense profiles": dense_profiles,
        "unequal columns": unequal_columns,
        "zero-inflated counts": zero_inflated,
        "rounded": rounded,
        "20 to 40 rows": few_rows,
        "2000 columns": many_columns,
        "3 to 5 columns": few_columns,
        "k = 1, all columns alike": one_flat,
        "sparse binary": binary,
        "one-hot blocks": one_hot,
        "batches": batches,
        "smooth spectra": smooth,
        "proportional columns": proportional,
        "each row twice": copies(2, 0.0),
        "near copies of rows": copies(2, 0.05),
        "five measurements": copies(5, 1.0),
        "10 copies of rows": copies(10, 0.0),
        "50 measurements": copies(50, 1.0),
        "a walk": a_walk,
        "sums of columns": sums_of_columns,
        "mixed scales": mixed_scales,
        "sparse counts": sparse_counts,
        "dropout": dropout,
        "correlated noise": correlated_noise,
        "six components": six_components,
        "sizes without mean": pareto_sizes,
        "spikes": spikes,
        "shares of a whole": shares,
        "rankings": rankings,
        "answers from 1 to 5": answers,
        "periodic": recurring(50, in_order=True),
        "recurring in any order": recurring(37, in_order=False),
        "a walk in any order": a_shuffled_walk,
    }
