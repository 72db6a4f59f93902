"""Semi-synthetic data of Li and Liang (2017, Li17): known components, random weights.

    name here                    Li17    weights of a row                          components
    sample_dirichlet             DIR     Dirichlet(0.05, …, 0.05)                  topics
    sample_fresh_covariance      CTM     softmax(C C g), new C for every row       topics
    sample_logistic_normal       -       softmax(g), g ~ N(0, Σ), one Σ for all    topics
    sample_signed                NEG     as sample_fresh_covariance                uniform ±0.5
    sample_sparse_binary         Prop. 1 s ones, the rest zero                     topics

The paper says that CTM is the logistic normal prior of correlated topic models. The authors' code
draws another k × k matrix C of normal entries for every row, which gives logits with a spread of
about k: rows are nearly pure, and weights of different components are not correlated beyond that.
A correlated topic model has one covariance for all rows. Both are here, under names that say so.

NOISE is any of these with `noise_level` γ > 0: each row gets normal noise of length about γ.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import generator
from provenmf.datasets.sample import Sample
from provenmf.errors import InvalidInput

Array = NDArray[np.float64]
Seed = int | np.random.Generator | None


def sample_dirichlet(
    n_rows: int,
    components: Array,
    *,
    concentration: float = 0.05,
    noise_level: float = 0.0,
    random_state: Seed = None,
) -> Sample:
    """Draw DIR: weights from a symmetric Dirichlet distribution."""
    rng = generator(random_state)
    weights = rng.dirichlet(np.full(len(components), concentration), n_rows)
    return mixed(weights, components, noise_level, rng)


def sample_fresh_covariance(
    n_rows: int,
    components: Array,
    *,
    noise_level: float = 0.0,
    random_state: Seed = None,
) -> Sample:
    """Draw CTM as the authors generate it: each row has its own random covariance."""
    rng = generator(random_state)
    weights = fresh_covariance_weights(n_rows, len(components), rng)
    return mixed(weights, components, noise_level, rng)


def sample_logistic_normal(
    n_rows: int,
    components: Array,
    *,
    spread: float = 10.0,
    noise_level: float = 0.0,
    random_state: Seed = None,
) -> Sample:
    """Draw a correlated topic model: softmax of normal vectors that share one covariance.

    The covariance is that of spread · C C g / k for one k × k matrix C of normal entries: logits
    have a standard deviation of about `spread`, and are correlated. With spread = k it is the
    authors' formula, one C for all rows. Every weight is positive, most of them tiny.
    """
    rng = generator(random_state)
    k = len(components)
    mixing = rng.standard_normal((k, k))
    mixing = spread / k * (mixing @ mixing)
    weights = softmax(rng.standard_normal((n_rows, k)) @ mixing.T)
    return mixed(weights, components, noise_level, rng)


def sample_signed(
    n_rows: int,
    *,
    n_components: int = 100,
    n_columns: int = 1000,
    noise_level: float = 0.0,
    random_state: Seed = None,
) -> Sample:
    """Draw NEG: components uniform in [−0.5, 0.5), weights as `sample_fresh_covariance`."""
    rng = generator(random_state)
    components = rng.uniform(-0.5, 0.5, (n_components, n_columns))
    weights = fresh_covariance_weights(n_rows, n_components, rng)
    return mixed(weights, components, noise_level, rng)


def sample_sparse_binary(
    n_rows: int,
    components: Array,
    *,
    n_ones: int = 3,
    noise_level: float = 0.0,
    random_state: Seed = None,
) -> Sample:
    """Draw weights with `n_ones` entries one (Li17, Proposition 1, first example)."""
    k = len(components)
    if not 1 <= n_ones <= k:
        raise InvalidInput(f"n_ones={n_ones} must lie between 1 and the {k} components")
    rng = generator(random_state)
    chosen = np.argsort(rng.random((n_rows, k)), axis=1)[:, :n_ones]
    weights = np.zeros((n_rows, k))
    np.put_along_axis(weights, chosen, 1.0, axis=1)
    return mixed(weights, components, noise_level, rng)


def topic_components(n_components: int, n_columns: int, *, random_state: Seed = None) -> Array:
    """Draw topics: sparse Dirichlet vectors over words, each with one anchor word.

    Stands in for the word-topic matrix of the paper's experiments.
    """
    if n_columns <= n_components:
        raise InvalidInput(f"n_columns={n_columns} must exceed n_components={n_components}")
    rng = generator(random_state)
    common_words = rng.dirichlet(np.full(n_columns - n_components, 0.1), n_components)
    share = rng.uniform(0.01, 0.1, n_components)
    return np.hstack([np.diag(share), (1.0 - share)[:, None] * common_words])


def start_nearby(
    components: Array,
    *,
    in_span: float = 1.0,
    out_of_span: float = 0.0,
    random_state: Seed = None,
) -> Array:
    """Draw a start at a chosen distance: (I + U) components + N (Li17, Appendix B.1).

    in_span : U is uniform in ±0.5 in_span/√k; the paper's ±0.05 at k = 100 is in_span = 1.
    out_of_span : length of a row of N, relative to the component it is added to.
    """
    rng = generator(random_state)
    k, d = components.shape
    bound = 0.5 * in_span / math.sqrt(k)
    mixing = np.eye(k) + rng.uniform(-bound, bound, (k, k))
    outside = rng.uniform(-1.0, 1.0, (k, d)) * math.sqrt(3.0 / d)
    lengths = np.linalg.norm(components, axis=1, keepdims=True)
    return np.asarray(mixing @ components + out_of_span * lengths * outside)


def mixed(
    weights: Array,
    components: Array,
    noise_level: float,
    rng: np.random.Generator,
) -> Sample:
    """Return weights @ components + noise with its truth.

    Noise is normal with standard deviation γ/√d per entry, so that a row of it has length γ. The
    authors' code has γ/d per entry.
    """
    data = weights @ components
    if noise_level > 0:
        d = components.shape[1]
        data = data + noise_level / math.sqrt(d) * rng.standard_normal(data.shape)
    return Sample(data, components, weights, noise_level=noise_level)


def fresh_covariance_weights(n_rows: int, k: int, rng: np.random.Generator) -> Array:
    """Return softmax(C C g) with a new normal k × k matrix C and vector g for each row."""
    logits = np.empty((n_rows, k))
    for row in logits:
        mixing = rng.standard_normal((k, k))
        row[:] = mixing @ (mixing @ rng.standard_normal(k))
    return softmax(logits)


def softmax(logits: NDArray[np.floating]) -> Array:
    """Return exp(logits) divided by its row sums, without overflow."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
