"""Data from the models of Li, Liang and Risteski (2016): y = A*x* + ν.

(A1) independent features; (A2) independent weights in [0, 1] with E[x] ≤ C₁/k and
c₂/k ≤ E[x²] ≤ C₂/k; (A3) a start A*(Σ + E) + N; (N1) adversarial noise, |ν| ≤ C_ν entrywise and
otherwise anything; (N2) the same with E[ν|x*] = 0.

Rows are data points here, so a sample is data = weights @ components + noise.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.budget import generator
from provenmf.datasets.sample import Sample
from provenmf.errors import InvalidInput
from provenmf.linalg.left_inverse import PseudoInverse, left_inverse, symmetric_norm

Values = Literal["binary", "uniform"]
Noise = Literal["decoding", "features", "unbiased"]


def sample_purification(
    n_rows: int,
    n_columns: int,
    n_components: int,
    *,
    sparsity: ArrayLike = 2.0,
    values: Values = "binary",
    overlap: float = 0.5,
    signed: bool = False,
    noise: Noise | None = None,
    noise_level: float = 0.0,
    against: PseudoInverse = "min-inf",
    random_state: int | np.random.Generator | None = None,
) -> Sample:
    """Draw data with independent features and independent sparse weights.

    Parameters
    ----------
    sparsity : s, the expected number of features in a row: each is there with probability s/k.
        An array gives each feature its own s: unequal proportions. s = G·k is linear sparsity.
    values : of the weights that are there: "binary", one as in (A2'); "uniform" in [0, 1].
    overlap, signed : see `overlapping_features`.
    noise : None; an adversary of (N1), see `adversarial_noise`; or "unbiased" for (N2).
    noise_level : C_ν, the largest entry of the noise.
    against : the left inverse of the true features that an adversary attacks.

    Returns
    -------
    Sample whose extras hold the `noise` (n, d).
    """
    rng = generator(random_state)
    components = overlapping_features(
        n_components, n_columns, overlap=overlap, signed=signed, random_state=rng
    )
    weights = independent_weights(
        n_rows, n_components, sparsity=sparsity, values=values, random_state=rng
    )
    return noisy_sample(
        weights, components, noise=noise, noise_level=noise_level, against=against, random_state=rng
    )


def noisy_sample(
    weights: NDArray[np.float64],
    components: NDArray[np.float64],
    *,
    noise: Noise | None = None,
    noise_level: float = 0.0,
    against: PseudoInverse = "min-inf",
    random_state: int | np.random.Generator | None = None,
) -> Sample:
    """Return weights @ components plus noise of largest entry `noise_level`."""
    rng = generator(random_state)
    shape = (weights.shape[0], components.shape[1])
    if noise is None:
        added = np.zeros(shape)
    elif noise == "unbiased":
        added = noise_level * rng.choice([-1.0, 1.0], size=shape)
    else:
        added = adversarial_noise(
            weights, components, noise_level, target=noise, against=against, random_state=rng
        )
    data = weights @ components + added
    return Sample(data, components, weights, noise_level=noise_level, extras={"noise": added})


def overlapping_features(
    n_components: int,
    n_columns: int,
    *,
    overlap: float = 0.5,
    signed: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Draw independent features (k, d) with nonzero entries of absolute sum one.

    A share 1 − overlap of a feature's mass lies on columns reserved for it, the rest is spread over
    all columns at random, so no column belongs to one feature alone unless overlap = 0. With
    signed=True entries have random signs.
    """
    if not 0 <= overlap < 1:
        raise InvalidInput(f"overlap={overlap} must lie in [0, 1)")
    if n_components > n_columns:
        raise InvalidInput(
            f"n_components={n_components} exceeds n_columns={n_columns}: they would be dependent"
        )
    rng = generator(random_state)
    own = np.zeros((n_components, n_columns))
    for feature, columns in enumerate(np.array_split(rng.permutation(n_columns), n_components)):
        own[feature, columns] = rng.uniform(0.5, 1.5, columns.size)
    shared = rng.exponential(size=(n_components, n_columns))
    own /= own.sum(axis=1, keepdims=True)
    shared /= shared.sum(axis=1, keepdims=True)
    features = (1.0 - overlap) * own + overlap * shared
    return features * rng.choice([-1.0, 1.0], size=features.shape) if signed else features


def independent_weights(
    n_rows: int,
    n_components: int,
    *,
    sparsity: ArrayLike = 2.0,
    values: Values = "binary",
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Draw independent weights (n, k) in [0, 1], nonzero with probability sparsity/k."""
    rng = generator(random_state)
    chances = np.broadcast_to(np.asarray(sparsity, dtype=np.float64) / n_components, n_components)
    if not ((chances > 0) & (chances <= 1)).all():
        raise InvalidInput(f"sparsity={sparsity!r} must lie in (0, n_components={n_components}]")
    present = rng.random((n_rows, n_components)) < chances
    sizes = np.ones(present.shape) if values == "binary" else rng.random(present.shape)
    return np.where(present, sizes, 0.0)


def orthogonal_array_weights(
    n_components: int, levels: int, *, hits: ArrayLike = 1, strength: int = 3
) -> NDArray[np.float64]:
    """Return zero-one weights whose sample moments are exactly those of independent ones.

    Rows are all polynomials of degree below `strength` over the integers modulo the prime
    `levels`, columns their values at 0, 1, …; a weight is one if the value is below `hits`, a
    number for all columns or one for each. Any `strength` columns take every combination of
    values equally often (Bush 1952), so every product of that many weights has the mean of
    independent weights with probabilities hits/levels: the paper's "infinitely many samples"
    with levels**strength rows.
    """
    if levels < 2 or any(levels % divisor == 0 for divisor in range(2, int(levels**0.5) + 1)):
        raise InvalidInput(f"levels={levels} must be a prime number")
    if n_components > levels:
        raise InvalidInput(f"n_components={n_components} must be at most levels={levels}")
    coefficients = np.indices((levels,) * strength).reshape(strength, -1)
    points = np.arange(n_components)
    values = np.zeros((coefficients.shape[1], n_components), dtype=np.int64)
    for coefficient in coefficients:  # Horner's rule
        values = (values * points + coefficient[:, None]) % levels
    return (values < np.asarray(hits)).astype(np.float64)


def adversarial_noise(
    weights: NDArray[np.float64],
    components: NDArray[np.float64],
    level: float,
    *,
    target: Literal["decoding", "features"] = "decoding",
    against: PseudoInverse = "min-inf",
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the worst noise with entries in [−level, level] for an adversary who knows the truth.

    "decoding": whenever feature j is present, push up the decoded weight of feature j + 1, its
    partner. Among all noise within the budget, ν = level · sign(Σ_j x_j b_{j+1}), with b_i the
    rows of the left inverse A†, maximises Σ_j x_j (A†ν)_{j+1}; this makes decoded weights
    correlate with weights they should not, and so mixes the features (E). Entries that the
    decoder does not look at are spent as under "features".
    "features": a fixed pattern of signs for each feature, added whenever it is present. It looks
    like a part of the feature and moves it out of the span (N); no method can tell it apart.
    """
    rng = generator(random_state)
    patterns = rng.choice([-1.0, 1.0], size=components.shape)
    directions = np.sign(weights @ patterns)
    if target == "decoding":
        inverse = left_inverse(components, against).rows
        pushed = np.sign(weights @ np.roll(inverse, -1, axis=0))
        directions = np.where(pushed != 0, pushed, directions)
    return np.asarray(level * directions)


def warm_start(
    components: NDArray[np.float64],
    *,
    mixing: float = 0.1,
    outside: float = 0.0,
    shrinkage: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Draw a start A*(Σ + E) + N of (A3): ‖E‖_s = mixing, rows of N with absolute sum outside.

    E has entries of both signs; Σ is uniform in [1 − shrinkage, 1]; N is orthogonal to the span.
    """
    rng = generator(random_state)
    k = components.shape[0]
    off_diagonal = rng.standard_normal((k, k))
    np.fill_diagonal(off_diagonal, 0.0)
    size = symmetric_norm(off_diagonal)
    off_diagonal *= mixing / size if size > 0 else 0.0
    diagonal = rng.uniform(1.0 - shrinkage, 1.0, k)
    start = (np.diag(diagonal) + off_diagonal) @ components
    if outside > 0:
        noise = rng.standard_normal(components.shape)
        noise -= noise @ np.linalg.pinv(components) @ components
        start += outside * noise / np.abs(noise).sum(axis=1, keepdims=True)
    return start
