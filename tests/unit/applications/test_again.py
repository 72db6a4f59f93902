"""A saved answer and its data give back the matrix that was factorized."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from provenmf import factorize
from provenmf.applications import (
    count_words,
    find_communities,
    find_parts,
    find_topics,
    matrix_again,
    unmix,
)
from provenmf.applications.topics import ANCHOR_METHODS
from provenmf.errors import InvalidInput
from provenmf.estimators.certificate import certify
from provenmf.io import Corpus


def fits(factorization, matrix):
    """The anchors of the answer are rows of the matrix."""
    rows = matrix[factorization.anchors]
    dense = rows.toarray() if sp.issparse(rows) else rows
    np.testing.assert_allclose(dense, factorization.components, atol=1e-9)
    assert len(factorization.weights) == matrix.shape[0]


def test_topics_from_texts_and_from_counts():
    rng = np.random.default_rng(0)
    words = np.array([f"{a}{b}x" for a in "abcd" for b in "efghij"])
    texts = [
        " ".join(rng.choice(words[6 * (n % 4) :][:8], 20)) + " rare" * (n == 0) for n in range(80)
    ]
    corpus = Corpus(texts, [str(n) for n in range(80)])
    counts = count_words(corpus, min_documents=1)
    result = find_topics(counts, 4, method="spa").factorization
    fits(result, matrix_again(result, corpus))
    fits(result, matrix_again(result, texts))
    fits(result, matrix_again(result, counts))
    with pytest.raises(InvalidInput, match="are not in the data"):
        matrix_again(result, np.ones((3, 2)))


@pytest.mark.parametrize("method", [*sorted(ANCHOR_METHODS), "and_descent"])
def test_topics_by_every_method_can_be_certified_again(method):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), 3)
    mixtures = rng.dirichlet(np.full(3, 0.3), 80)
    counts = sp.csr_array(np.array([rng.multinomial(60, row) for row in mixtures @ topics]))
    result = find_topics(counts, 3, method=method, random_state=0).factorization
    again = certify(matrix_again(result, counts), result)
    assert again.measures.keys() == result.certificate.measures.keys()
    for name, value in result.certificate.measures.items():
        np.testing.assert_allclose(again.measures[name], value, rtol=1e-6, atol=1e-9)


def test_communities():
    rng = np.random.default_rng(0)
    adjacency = np.kron(np.eye(2), np.ones((30, 30))) * 0.7 + 0.1
    adjacency = np.triu(rng.random((60, 60)) < adjacency, 1).astype(float)
    result = find_communities(adjacency + adjacency.T, 2, method="spa").factorization
    fits(result, matrix_again(result, adjacency + adjacency.T))


@pytest.mark.parametrize("group", [True, False])
def test_unmixing(group):
    rng = np.random.default_rng(0)
    pixels = rng.dirichlet(np.ones(3), 200) @ rng.uniform(0.1, 1, (3, 8))
    cube = pixels.reshape(10, 20, 8)
    result = unmix(cube, 3, method="spa", group=group).factorization
    fits(result, matrix_again(result, cube))
    fits(result, matrix_again(result, pixels.T))


def test_parts_and_plain_matrices():
    images = load_digits().images[:50]
    result = find_parts(images, 3, method="spa").factorization
    fits(result, matrix_again(result, images))
    plain = factorize(images.reshape(50, 64), 3, method="spa")
    assert matrix_again(plain, images) is images
