import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from provenmf import SPA, InvalidInput
from provenmf.report import render, write
from provenmf.report.matrix import found, in_digits
from provenmf.report.page import script_json
from provenmf.results import Certificate, Factorization, as_answer
from provenmf.results.estimates import Evidence
from provenmf.results.verdict import headline


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
    for sentence in headline(result.certificate):
        assert page.count(sentence.split(";")[0].rstrip(".")) == 1
    assert len(page.encode()) < 200_000


def test_every_chart_has_a_program_that_draws_it(result):
    page = render(result)
    start = page.index('id="figures">') + len('id="figures">')
    shown = json.loads(page[start : page.index("</script>", start)])
    assert shown["figures"]
    for figure in shown["figures"]:
        assert f"{figure['kind']}: " in page[page.index("const charts") :]


def test_a_result_without_certificate_and_trace_says_so():
    bare = Factorization("spa", np.ones((4, 1)), np.ones((1, 3)))
    page = render(bare)
    assert "<title>Factorization by SPA</title>" in page
    assert "<title>&lt;b&gt;x</title>" in render(bare, title="<b>x")
    assert "This result has no certificate" in page
    assert "needs no iterations or recorded none" in page


def test_script_json_cannot_close_its_element():
    text = script_json(["</script><!--", "&"])
    assert "<" not in text
    assert json.loads(text) == ["</script><!--", "&"]


def test_what_was_chosen_automatically_is_said_before_the_pictures(results):
    topics = replace(results["topics"], notes=("number of topics chosen automatically: 4",))
    page = render(topics)
    note = page.index("Note: Number of topics chosen automatically: 4.")
    assert page.index("documents over") < note < page.index("<h2>Topics</h2>")


def test_parts_are_shown_from_the_largest_to_the_smallest(results):
    answer = results["parts"]
    page = render(answer)
    shown = [page.index(f">{answer.component_names[i]}<") for i in np.argsort(-answer.share)]
    assert shown == sorted(shown)


def test_the_first_screen_says_what_was_found_with_marks_of_evidence(results):
    fit = results["topics"].factorization
    judged = Evidence(("confirmed", "not confirmed", "confirmed", "cannot be judged"),
                      (0.001, 0.002, 0.01, 1.0), (3.0, 80.0, 5.0, None), noun="topic",
                      row="document", found_again=(True, False, True, False))  # fmt: skip
    fit = replace(fit, certificate=replace(fit.certificate, evidence=judged))
    page = render(replace(results["topics"], factorization=fit))
    head = page[page.index("<body>") : page.index('<div role="tablist"')]
    assert head.count("✓") == 2 and head.count("✗") == 1
    assert "differs between halves" in head
    assert page.count('class="name doubtful"') == 2  # their cards
    assert head.count('<tr class="doubtful"') == 2
    assert "2 of 4 topics are confirmed" in head and "anchor" not in head
    assert head.index("documents over") < head.index("Topic 1") < head.index("2 of 4 topics")


def test_every_document_is_listed_with_its_topic(results):
    topics = results["topics"]
    page = render(topics)
    rows = re.findall(r'<tr data-of="(\d+)"><td>([^<]*)', page)
    assert [unescape(name) for _, name in rows] == list(topics.row_names)
    main = topics.document_weights.argmax(axis=1) + 1
    assert [int(number) for number, _ in rows] == main.tolist()


def test_few_named_columns_are_all_shown_and_others_have_a_curve():
    rng = np.random.default_rng(0)
    fit = Factorization("hals", rng.random((9, 2)), rng.random((2, 20)))
    named = replace(fit, column_names=np.array(list("ABCDEFGHIJKLMNOPQRST")))
    shown, curves = found(as_answer(fit))[1:]
    assert [len(card.bars) for card in shown.cards] == [12, 12] and curves.figure.kind == "lines"
    _, only = found(as_answer(named))
    assert [bar.label for bar in only.cards[0].bars] == list(named.column_names)


def test_a_result_writes_its_report_and_prints_its_components(results, tmp_path):
    results["unmixing"].report(tmp_path / "page.html", title="Scene")
    assert "<h1>Scene</h1>" in (tmp_path / "page.html").read_text("utf-8")
    assert "water" in str(results["unmixing"])


def test_a_column_that_is_most_of_the_data_is_said():
    rng = np.random.default_rng(0)
    fit = Factorization("hals", rng.random((9, 2)), rng.random((2, 5)) * [1, 1, 1, 1, 100])
    assert "100% of the sum of squares is in column 5" in render(fit)
    assert "very different scales" not in render(replace(fit, components=rng.random((2, 5))))


def test_an_error_of_another_matrix_says_which(results):
    communities = results["communities"]
    assert communities.factorized()
    fit = replace(
        communities.factorization, certificate=Certificate("spa", measures={"relative_error": 0.1})
    )
    page = render(replace(communities, factorization=fit))
    verdict = page[page.index('<div class="summary') : page.index('<div role="tablist"')]
    assert "The relative error" in verdict and "nodes as points" in verdict


@pytest.mark.parametrize("path", ["", "."])
def test_a_report_needs_the_name_of_a_file(path):
    with pytest.raises(InvalidInput, match="name a file"):
        write(SPA(1).fit(np.eye(3)).factorization_, path)


def test_bars_write_thousands_as_people_do():
    values = (0.00123, 1.0, 999.4, 999.7, -1714.2, 2.5e7)
    assert list(map(in_digits, values)) == ["0.00123", "1", "999", "1,000", "-1,714", "2.5e+07"]
