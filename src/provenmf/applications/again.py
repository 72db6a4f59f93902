"""Build the matrix behind a saved answer again, so that it can be certified from its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.applications.answers import settings_of
from provenmf.applications.communities import embed, node_problem
from provenmf.applications.topics import unit_documents, word_problem
from provenmf.applications.unmixing import pixel_problem
from provenmf.applications.words import are_texts, as_word_counts, count_words
from provenmf.errors import InvalidInput
from provenmf.io.cubes import as_cube
from provenmf.io.graphs import as_graph
from provenmf.io.images import as_images
from provenmf.records import Factorization


def matrix_again(factorization: Factorization, data: Any) -> Any:
    """The matrix that was factorized.

    Parameters
    ----------
    factorization : an answer of one of the applications, or any other (then data is the matrix).
    data : what the application was given: Corpus or Counts, Graph, Cube, Images, or what these
        can be made from.
    """
    builders = {
        "topics": _words_or_documents,
        "communities": _nodes,
        "unmixing": _pixels,
        "parts": _images,
    }
    kind = factorization.kind
    return builders[kind](factorization, data) if kind in builders else data


def _words_or_documents(factorization: Factorization, data: Any) -> Any:
    vocabulary = factorization.extras["vocabulary"]
    if are_texts(data):
        data = count_words(data, vocabulary=vocabulary.tolist())
    counts = as_word_counts(data)
    column = {word: number for number, word in enumerate(counts.vocabulary)}
    missing = [word for word in vocabulary if word not in column]
    if missing:
        raise InvalidInput(
            f"{len(missing)} words of the result, such as {missing[0]!r}, are not in the data: "
            "give the corpus and vocabulary that the result was made from"
        )
    matrix = sp.csr_array(counts.matrix[:, [column[word] for word in vocabulary]])
    if "anchor_columns" not in factorization.extras:
        return unit_documents(matrix)
    settings = settings_of(factorization)
    return word_problem(matrix, settings["n_topics"], settings["min_anchor_documents"]).points


def _nodes(factorization: Factorization, data: Any) -> Any:
    settings = settings_of(factorization)
    embedding = embed(
        as_graph(data).adjacency, settings["n_communities"], energy=settings["energy"]
    )
    return node_problem(embedding, scale=settings["scale"])[0]


def _pixels(factorization: Factorization, data: Any) -> Any:
    settings = settings_of(factorization)
    shape = tuple(int(size) for size in factorization.extras["image_shape"])
    pixels = as_cube(data, shape=(shape[0], shape[1])).pixels
    problem = pixel_problem(
        pixels,
        settings["n_endmembers"],
        group=settings["group"],
        group_radius=settings["group_radius"],
        scale=settings["scale"],
    )
    return problem.points


def _images(factorization: Factorization, data: Any) -> Any:
    shape = tuple(int(size) for size in factorization.extras["image_shape"])
    return np.asarray(as_images(data, shape=(shape[0], shape[1])).pixels)
