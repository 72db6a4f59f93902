"""Files that a command writes: nothing is lost silently, nothing stale stays, tables leave."""

import sys

import pandas
import pytest

from provenmf.io.records import load


@pytest.fixture
def fit(run, separable):
    def fit_with(k: int, *more: object):
        return run("fit", separable, "-k", k, "-m", "spa", *more)

    return fit_with


def test_a_result_is_never_written_where_its_report_goes(fit, tmp_path):
    for more in ((), ("--no-report",)):
        ran = fit(2, "-o", "x.html", *more)
        assert ran.code == 2 and "end it in .npz" in ran.err, ran
    assert not (tmp_path / "x.html").exists()


def test_a_second_result_gets_a_number(fit, tmp_path):
    fit(2)
    ran = fit(3)
    assert "separable-result-2.npz" in ran.out and "separable-result-2.html" in ran.out
    assert load(tmp_path / "separable-result.npz").n_components == 2
    assert load(tmp_path / "separable-result-2.npz").n_components == 3


def test_a_name_that_is_taken_needs_force(fit, tmp_path):
    fit(2, "-o", "mine.npz", "--no-report")
    ran = fit(3, "-o", "mine.npz", "--no-report")
    assert ran.code == 2 and "--force" in ran.err, ran
    assert load(tmp_path / "mine.npz").n_components == 2
    assert fit(3, "-o", "mine.npz", "--no-report", "--force").code == 0
    assert load(tmp_path / "mine.npz").n_components == 3


def test_a_stale_report_goes_but_a_page_of_the_users_own_is_safe(fit, tmp_path):
    (tmp_path / "mine.html").write_text("my page")
    assert fit(2, "-o", "mine.npz").code == 2
    assert fit(2, "-o", "mine.npz", "--no-report", "--force").code == 0
    assert (tmp_path / "mine.html").read_text() == "my page"
    fit(2, "-o", "ours.npz")
    ran = fit(3, "-o", "ours.npz", "--no-report", "--force")
    assert "earlier result" in ran.err and not (tmp_path / "ours.html").exists()


def test_report_overwrites_only_the_page_beside_its_result(run, fit, tmp_path):
    fit(2, "-o", "mine.npz")
    assert run("report", "mine.npz").code == 0
    (tmp_path / "page.html").write_text("my page")
    ran = run("report", "mine.npz", "-o", "page.html")
    assert ran.code == 2 and "--force" in ran.err
    assert (tmp_path / "page.html").read_text() == "my page"


def test_tables_of_a_matrix(fit, tmp_path):
    ran = fit(3, "--tables", "tables", "--no-report")
    assert ran.code == 0, ran
    result = load(tmp_path / "separable-result.npz")
    weights = pandas.read_csv(tmp_path / "tables" / "row_weights.csv", index_col=0)
    components = pandas.read_csv(tmp_path / "tables" / "components.csv", index_col=0)
    assert weights.to_numpy() == pytest.approx(result.weights)
    assert components.to_numpy() == pytest.approx(result.components)
    assert fit(3, "--tables", "tables", "--no-report").code == 2  # nor are tables
    assert fit(3, "--tables", "tables", "--no-report", "--force").code == 0


def test_tables_of_topics_and_communities(run, corpus, graph, tmp_path):
    assert run("topics", corpus, "-k", 2, "--tables", "t", "--no-report").code == 0
    topics = load(tmp_path / "corpus-result.npz")
    overview = pandas.read_csv(tmp_path / "t" / "overview.csv", index_col=0)
    assert overview["largest"].tolist() == ["; ".join(words) for words in topics.top_words()]
    assert pandas.read_csv(tmp_path / "t" / "document_weights.csv").shape == (60, 3)
    table = pandas.read_csv(tmp_path / "t" / "topics.csv", index_col=0)
    assert table.columns.tolist() == topics.vocabulary.tolist()
    assert run("communities", graph, "-k", 2, "--tables", "c", "--no-report").code == 0
    names = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert {"memberships.csv", "overview.csv"} <= set(names)


def test_an_outcome_of_an_experiment_is_not_overwritten_silently(run, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "cones-fig1.json").write_text("{}")
    ran = run("reproduce", "cones-fig1", "--quick")
    assert ran.code == 2 and "--force" in ran.err, ran


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems want UTF-8")
def test_names_without_an_encoding_are_written_all_the_same(run, tmp_path):
    """Names of files may be any bytes; tables, reports ended in UnicodeEncodeError."""
    (tmp_path / "letters").mkdir()
    for i, text in enumerate(["ship sail wave", "bread oven flour"] * 4):
        (tmp_path / "letters" / f"{i}\udcff.txt").write_text(text)
    ran = run("topics", "letters", "-k", 2, "-o", "t.npz", "--tables", "tables", "--json")
    assert ran.code == 0, ran
    assert run("label", "t.npz", "1=\udcff").code == 0
    assert run("report", "t.npz", "-o", "page.html").code == 0
    assert any("0?.txt" in file.read_text() for file in (tmp_path / "tables").iterdir())
