"""Names that a reader gives stay in the result and are shown everywhere."""

import re

import pytest

from provenmf import load
from provenmf.report import write


@pytest.mark.parametrize("kind", ["topics", "matrix"])
def test_names_are_kept_and_the_report_follows(run, results, kind):
    results[kind].save("r.npz")
    write(results[kind], "r.html")
    assert run("label", "r.npz", "2=Sport", "3=deep water").code == 0
    found = load("r.npz")
    names = list(found.component_names)
    assert names[1:3] == ["Sport", "deep water"]
    page = open("r.html").read()
    assert "deep water</span>" in page


def test_no_report_appears_where_there_was_none(run, results, tmp_path):
    results["parts"].save("r.npz")
    assert run("label", "r.npz", "1=nose").code == 0
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["Sport"], "write them like 3=Sport"),
        (["²=Sport"], "write them like 3=Sport"),
        (["9" * 5000 + "=Sport"], "write them like 3=Sport"),
        (["9=Sport"], "there is no topic 9"),
        (["0=Sport"], "there is no topic 0"),
        (["1="], "empty name"),
        (["1=a", "1=b"], "named twice"),
        (["1=a", "2=a"], "would be called 'a'"),
    ],
)
def test_what_cannot_be_a_name_is_refused(run, results, names, words):
    results["topics"].save("r.npz")
    ran = run("label", "r.npz", *names)
    assert ran.code == 2 and words in " ".join(ran.err.split())
    assert load("r.npz") == results["topics"]


def test_a_report_says_where_its_result_comes_from(run, separable, tmp_path):
    assert run("fit", separable, "-k", 2, "-m", "spa", "-o", "r.npz").code == 0
    origin = load("r.npz").origin
    assert origin.file == "separable.csv" and origin.command.startswith("provenmf fit ")
    top = (tmp_path / "r.html").read_text().split('<div role="tablist"')[0]
    top = " ".join(re.sub("<[^>]*>", "", top).split())
    for text in ("separable.csv", origin.command, origin.date, load("r.npz").versions["provenmf"]):
        assert text in top


def test_topics_by_a_column(run, tmp_path):
    rows = [f"{1914 + i % 3},ship sail wave harbour {i}\n" for i in range(9)]
    rows += [f"{1914 + i % 3},bread oven yeast flour {i}\n" for i in range(9)]
    (tmp_path / "letters.csv").write_text("year,text\n" + "".join(rows))
    ran = run("topics", "letters.csv", "-k", 2, "--by", "year", "-o", "r.npz", "--tables", "t")
    assert ran.code == 0, ran
    groups, shares = load("r.npz").group_shares()
    assert groups == ["1914", "1915", "1916"] and shares.sum(axis=1) == pytest.approx(1)
    assert "Topics by year" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "t" / "topics_by_group.csv").read_text().startswith("year,Topic 1")
    ran = run("topics", "letters.csv", "-k", 2, "--by", "month", "-o", "s.npz")
    assert ran.code == 2 and "choose one of year, text" in " ".join(ran.err.split())
