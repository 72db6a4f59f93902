"""The data behind the files here, and how version 0.1 made them, with `python make.py`.

The files stay as they are: they show that what people saved then can still be read.
"""

from pathlib import Path

import numpy as np

SUBJECTS = (
    ["ship", "sail", "harbour", "storm", "wave", "anchor"],
    ["bread", "flour", "oven", "yeast", "crust", "salt"],
)
MATRIX_METHODS = ("merit", "spa", "cones", "and_descent", "purification", "fast_gradient", "hals")
MOST_ITERATIONS = {"merit": 9, "and_descent": 9, "purification": 9, "fast_gradient": 9, "hals": 9}


def corpus():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(SUBJECTS[i % 2], size=12)) for i in range(24)]


def adjacency():
    rng = np.random.default_rng(1)
    chance = np.kron(np.eye(2), np.ones((9, 9))) * 0.7 + 0.1
    upper = np.triu(rng.random((18, 18)) < chance, 1).astype(float)
    return upper + upper.T


def scene():
    """A cube with a missing entry and a dead band, its spectra and abundances."""
    rng = np.random.default_rng(2)
    spectra, abundances = rng.uniform(0.1, 1, (3, 8)), rng.dirichlet(0.5 * np.ones(3), 60)
    abundances[:9] = np.repeat(np.eye(3), 3, axis=0)
    cube = (abundances @ spectra).reshape(6, 10, 8)
    cube[3, 4, 2] = np.nan
    cube[:, :, 5] = 0
    return cube, spectra, abundances


def images():
    return 16 * np.random.default_rng(3).random((12, 4, 5))


def matrix():
    rng = np.random.default_rng(4)
    return rng.dirichlet(np.ones(3), 20) @ rng.random((3, 4))


def main():
    import pandas

    from provenmf import factorize
    from provenmf.applications import (
        count_words,
        find_communities,
        find_parts,
        find_topics,
        unmix,
    )
    from provenmf.io import Corpus

    texts = corpus()
    counts = count_words(Corpus(texts, [f"file {i}" for i in range(len(texts))]))
    cube, spectra, abundances = scene()
    found = {
        "topics": find_topics(counts, 2),
        "documents": find_topics(counts, 2, method="hals", random_state=0, max_iter=9),
        "communities": find_communities(adjacency(), 2),
        "unmixing": unmix(cube, 3, true_endmembers=spectra, true_abundances=abundances),
        "parts": find_parts(images(), 3, random_state=0, max_iter=9),
    }
    records = {name: answer.factorization for name, answer in found.items()}
    table = pandas.DataFrame(matrix(), columns=list("abcd"))
    for method in MATRIX_METHODS:
        most = MOST_ITERATIONS.get(method)
        options = {} if most is None else {"max_iter": most}
        records[method] = factorize(table, 2, method=method, random_state=0, **options)
    for name, record in records.items():
        record.save(Path(__file__).with_name(f"{name}.npz"))


if __name__ == "__main__":
    main()
