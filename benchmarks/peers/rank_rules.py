"""Two published rules for the number of components, written plainly with scikit-learn's NMF."""

import warnings

import numpy as np
from scipy.optimize import nnls
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score


def nmf(matrix, k, seed, init=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NMF(k, init=init or "random", random_state=seed, max_iter=300)
        return model.fit_transform(matrix), model.components_


def consensus_number(matrix, ranks, n_runs=10, threshold=0.5):
    """cNMF (Kotliar et al. 2019): the number whose components fall into the clearest clusters.

    Components of all runs at unit length, outliers left out by their distance to their nearest
    neighbours, k-means, mean silhouette; the largest one wins, of equal ones the larger number.
    """
    scores = {}
    for k in ranks:
        if k < 2:
            continue
        spectra = np.vstack([nmf(matrix, k, seed)[1] for seed in range(n_runs)])
        spectra /= np.maximum(np.linalg.norm(spectra, axis=1, keepdims=True), 1e-300)
        distances = np.linalg.norm(spectra[:, None] - spectra[None], axis=2)
        near = np.sort(distances, axis=1)[:, 1 : 1 + max(1, int(0.3 * n_runs))].mean(axis=1)
        kept = spectra[near < threshold]
        if len(kept) <= k:
            continue
        labels = KMeans(k, n_init=10, random_state=1).fit_predict(kept)
        scores[k] = silhouette_score(kept, labels) if len(set(labels)) > 1 else -1.0
    return max(scores, key=lambda k: (round(scores[k], 6), k)) if scores else None


def bi_cross_validation_number(matrix, ranks, folds=2, seed=0):
    """Owen & Perry 2009, Section 4: NMF of a quarter predicts the opposite quarter."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(size) % folds for size in matrix.shape)
    errors = dict.fromkeys(ranks, 0.0)
    for i in range(folds):
        for j in range(folds):
            hidden_rows, hidden_columns = rows == i, columns == j
            a = matrix[np.ix_(hidden_rows, hidden_columns)]
            b = matrix[np.ix_(hidden_rows, ~hidden_columns)]
            c = matrix[np.ix_(~hidden_rows, hidden_columns)]
            d = matrix[np.ix_(~hidden_rows, ~hidden_columns)]
            for k in ranks:
                weights, components = nmf(d, k, 0, "nndsvda" if k <= min(d.shape) else None)
                left = np.array([nnls(components.T, row)[0] for row in b])
                right = np.array([nnls(weights, column)[0] for column in c.T]).T
                errors[k] += float(((a - left @ right) ** 2).sum())
    return min(errors, key=errors.get)
