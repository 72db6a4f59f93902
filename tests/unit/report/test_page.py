import json
import re
from dataclasses import replace

import numpy as np
import pytest

from provenmf.errors import InvalidInput
from provenmf.report import render, write
from provenmf.report.matrix import brightest_of
from provenmf.report.page import script_json
from provenmf.results import Factorization


def test_script_word_is_text_in_every_kind(results):
    for kind, result in results.items():
        page = render(result)
        assert "<script>alert(1)" not in page, kind
        if kind != "parts":  # parts hold numbers only, apart from a parameter
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, kind


def test_page_names_no_address_to_fetch(result):
    page = render(result)
    own = page[: page.index('<script type="application/json"')]
    assert re.findall(r"""(?:src|href)=["'](?!data:|#)[^"']+""", own) == []
    assert "default-src 'none'" in own


def test_all_tabs_have_content(result):
    page = render(result)
    for name in ("found", "convergence", "certificate"):
        assert f'id="{name}"' in page
    assert result.certificate.verdict in page
    assert "met by a factor of 4" in page


def test_every_chart_has_a_program_that_draws_it(result):
    page = render(result)
    start = page.index('id="figures">') + len('id="figures">')
    shown = json.loads(page[start : page.index("</script>", start)])
    assert shown["figures"]
    for figure in shown["figures"]:
        assert f"{figure['kind']}: " in page[page.index("const charts") :]


def test_pages_are_small(result):
    assert len(render(result).encode()) < 200_000


def test_a_result_without_certificate_and_trace_says_so():
    bare = Factorization("spa", np.ones((4, 1)), np.ones((1, 3)))
    page = render(bare)
    assert "This result has no certificate" in page
    assert "needs no iterations or recorded none" in page


def test_methods_are_called_as_their_users_write_them():
    fit = Factorization("fast_anchor", np.ones((4, 1)), np.ones((1, 3)))
    assert "<title>Factorization by FastAnchor</title>" in render(fit)


def test_title_is_escaped(results):
    assert "<title>&lt;b&gt;x</title>" in render(results["matrix"], title="<b>x")


def test_script_json_cannot_close_its_element():
    text = script_json(["</script><!--", "&"])
    assert "<" not in text
    assert json.loads(text) == ["</script><!--", "&"]


def test_write_to_a_missing_folder_is_refused(results, tmp_path):
    with pytest.raises(InvalidInput, match="cannot write"):
        write(results["matrix"], tmp_path / "missing" / "page.html")


def test_what_was_chosen_automatically_is_said_before_the_pictures(results):
    topics = replace(results["topics"], notes=("number of topics chosen automatically: 4",))
    page = render(topics)
    note = page.index("Note: Number of topics chosen automatically: 4.")
    assert page.index("documents over") < note < page.index("<h2>Topics</h2>")


def test_a_few_large_rows_do_not_leave_the_map_of_weights_dark():
    weights = np.random.default_rng(0).random((200, 3))
    assert brightest_of(weights) == weights.max()
    weights[:4] *= 1000
    assert brightest_of(weights) <= 1
    assert brightest_of(np.zeros((3, 2))) == 0 and brightest_of(np.zeros((0, 2))) == 0


def test_colours_of_weights_that_are_no_numbers():
    """A forged record: NaN and infinity do not reach the colour scale."""
    assert brightest_of(np.array([[1.0, np.nan], [np.inf, 2.0]])) == 2.0


def test_parts_are_shown_from_the_largest_to_the_smallest(results):
    answer = results["parts"]
    page = render(answer)
    shown = [page.index(f">{answer.component_names[i]}<") for i in np.argsort(-answer.share)]
    assert shown == sorted(shown)
