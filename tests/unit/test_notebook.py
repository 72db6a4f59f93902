"""Notebooks show records small, verdict first, and nothing that is not escaped."""

from dataclasses import replace

import numpy as np

from provenmf import factorize, find_topics
from provenmf.results import Certificate


def test_the_verdict_comes_first():
    html = Certificate("spa", measures={"relative_error": 0.25})._repr_html_()
    assert html.startswith("<div><p>The relative error is 0.25")
    assert "<details>" in html


def test_a_factorization_shows_verdict_choice_and_components():
    result = factorize(np.random.default_rng(0).random((30, 8)), 3, random_state=0)
    html = result._repr_html_()
    assert html.index("relative error") < html.index("chosen automatically") < html.index("<pre> ")
    assert "Component 3" in html
    without = replace(result, certificate=None)._repr_html_()
    assert "There is no certificate" in without


def test_names_are_escaped_and_many_components_cut():
    result = factorize(np.random.default_rng(0).random((40, 30)), 25, method="spa", certify=False)
    names = np.array(["<script>alert(1)</script>"] * 30)
    html = replace(result, column_names=names)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert "and 5 more" in html


def test_topics():
    texts = ["ship sail wave", "bread oven yeast", "sail wave ship", "oven bread yeast"]
    html = find_topics(texts, 2)._repr_html_()
    assert "Topic 1" in html and "anchor" in html and "yeast" in html
