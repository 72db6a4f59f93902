"""Weights of count rows for fixed components, with a prior: EM, one row at a time."""

import numpy as np

from provenmf.linalg.compiled import njit


@njit(cache=True, nogil=True)
def posterior_weights(indptr, indices, data, features, shares, pseudo_counts, steps):  # type: ignore[no-untyped-def]
    """Return weights w of each CSR row x that make w @ features.T likely, drawn towards `shares`.

    Steps of EM for x ~ Poisson(w @ features.T) in which `pseudo_counts` more counts, distributed as
    in the average row, support the prior; their total is taken out again by the denominator.
    """
    n, k = len(indptr) - 1, features.shape[1]
    sums = np.zeros(k)
    for feature in features:
        sums += feature
    sums += 1e-12
    expected = 0.0
    for c in range(k):
        expected += shares[c] * sums[c]
    expected = max(expected, 1e-300)
    weights = np.zeros((n, k))
    moved = np.empty(k)
    for row in range(n):
        total = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            total += data[place]
        if total <= 0.0:
            continue
        for c in range(k):
            weights[row, c] = shares[c] * total / expected
        for _ in range(steps):
            for c in range(k):
                moved[c] = pseudo_counts * shares[c] * sums[c] / expected
            for place in range(indptr[row], indptr[row + 1]):
                column = indices[place]
                mean = 1e-300
                for c in range(k):
                    mean += weights[row, c] * features[column, c]
                ratio = data[place] / mean
                for c in range(k):
                    moved[c] += ratio * weights[row, c] * features[column, c]
            for c in range(k):
                weights[row, c] = moved[c] / (sums[c] * (1.0 + pseudo_counts / total))
    return weights
