import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from provenmf.reproduce import claims
from provenmf.reproduce.catalogue import PAPERS, counted, document, experiments, listing, names
from provenmf.reproduce.claims import Clause, Experiment, Measured, NotMeasured, Settings
from provenmf.reproduce.results import (
    Result,
    page_of,
    read_record,
    read_results,
    record_of,
    write_result,
)

FIGURE = claims.chart(
    "Error", "n", "error", [("ours", [1, 2], [0.1, 0.01]), ("authors' code", [1], [0.2])], "y"
)
SMALL = claims.number({"entry": "T", "column": "e", "n": 1}, "cones")
CLAUSE = Clause("small", "errors are small", "Fig. 1", "error", "<= 0.1", "ours", SMALL)


def run(settings: Settings) -> Measured:
    table = [{"n": 1, "e": np.float64(0.1)}, {"n": 2, "e": 0.01, "more | text": "<b>"}]
    return Measured({"T": table}, [FIGURE])


ROOT = Path(__file__).parents[3]
EXPERIMENT = Experiment("cones-fig1", "Liu17", "A figure", run, (CLAUSE,), "A note.")


@pytest.fixture
def result():
    return Result(EXPERIMENT, run(Settings()), quick=True, seed=3, seconds=1.25)


def test_entries_of_tables_are_found_or_not_measured():
    tables = {"T": [{"n": 1, "e": 0.5}, {"n": 2, "e": "not run"}, {"n": 1, "e": 0.7}]}
    assert claims.column(tables, "T", "e", n=1) == [0.5, 0.7]
    for title, name, n in (("U", "e", 1), ("T", "f", 1), ("T", "e", 2), ("T", "e", 3)):
        with pytest.raises(NotMeasured):
            claims.column(tables, title, name, n=n)
    with pytest.raises(NotMeasured, match="2 rows"):
        claims.cell(tables, "T", "e", n=1)


def test_exponents_are_those_of_power_laws():
    assert claims.exponent([1, 2, 4], [3, 12, 48]) == pytest.approx(2)
    assert np.isnan(claims.exponent([1, 2], [0, 1])) and np.isnan(
        claims.exponent([1, 2], [np.nan, 1])
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.11])
def test_numbers_beyond_the_threshold_fail(value):
    assert CLAUSE.judge({"T": [{"n": 1, "e": value}]}).decision == "fails"
    assert CLAUSE.judge({"T": [{"n": 1, "e": 0.1}]}).decision == "holds"


def test_numbers_are_data():
    rows = [{"n": n, "e": n**2, "b": 2.0, "m": m} for m in "xy" for n in (1, 2, 4)]
    given = {
        6.0: {"largest": "T", "column": "n", "over": "b", "m": "x"},
        8.0: {"largest": "T", "column": "e", "over": "b", "n": ">= 2"},
        16.0: {"largest": "T", "column": "e", "n": 4, "m": "x", "against": {"n": 1, "m": "y"}},
        1.0: {"exponent": "T", "column": "e", "against": "n", "less": 1, "m": ["x", "y"]},
        3.0: {"count": "T", "column": "e", "m": "y"},
        14.0: {"sum": "T", "column": "n"},
    }
    rows[2]["n"] = 12  # the largest of the first method
    assert claims.number(given.pop(6.0), "cones")({"T": rows}) == 6.0
    rows[2]["n"] = 4
    for wanted, one in given.items():
        assert claims.number(one, "cones")({"T": rows}) == pytest.approx(wanted)
    with pytest.raises(NotMeasured):
        claims.number({"largest": "T", "column": "e", "n": ">= 9"}, "cones")({"T": rows})


@pytest.mark.parametrize("value", [-1.0, 101.0])
def test_impossible_numbers_are_unknown(value):
    tables = {"MRSA, 0 to 100": [{"n": 1, "MERIT": value}, {"n": 2, "MERIT": 3.0}]}
    found = [row["MERIT"] for row in claims.sound(tables, {})["MRSA, 0 to 100"]]
    assert np.isnan(found[0]) and found[1] == 3.0


def test_tables_that_lack_rows_or_show_nothing_are_left_out():
    same = [{"method": m, "n": n, "error": 0.5} for m in "ab" for n in (1, 2)]
    assert claims.sound({"T": same}, {}) == {}
    apart = [{**row, "error": row["n"] * 0.5} for row in same]
    assert claims.sound({"T": apart}, {"T": 4}) == {"T": apart}
    assert claims.sound({"T": apart}, {"T": 5}) == {}
    stuck = [row if row["method"] == "a" else {**row, "error": 7.0} for row in apart]
    assert claims.sound({"T": stuck}, {}) == {}
    assert claims.sound({"T": stuck}, {}, ["b"]) == {"T": stuck}


def test_files_of_a_result(result, tmp_path):
    folder = tmp_path / "new" / "folder"
    files = {path.name: path for path in write_result(result, folder)}
    assert set(files) == {"cones-fig1.html", "cones-fig1.json"}
    assert read_results(folder)["cones-fig1"] == result.to_dict()
    assert json.loads(files["cones-fig1.json"].read_text())["verdict"] == "holds"


def test_pictures_are_part_of_the_page(tmp_path):
    images = np.random.default_rng(0).random((2, 4, 3))
    measured = Measured({"T": [{"n": 1, "e": 0.1}]}, pictures={"first": images, "second": images})
    result = Result(EXPERIMENT, measured, quick=True, seed=0, seconds=1.0)
    files = {path.suffix: path for path in write_result(result, tmp_path)}
    assert files[".html"].read_text("utf-8").count("data:image/png") == 4


def test_foreign_files_in_the_folder_are_ignored(tmp_path):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    assert read_results(tmp_path) == {}
    assert read_results(tmp_path / "missing") == {}


def test_page_holds_clauses_verdict_note_and_escaped_table(result):
    page = page_of(result)
    for text in ("errors are small", "The claim holds.", "A note.", "&lt;b&gt;"):
        assert text in page


def test_curves_of_others_are_dotted():
    assert list(FIGURE.figure.dotted) == ["authors' code"] and FIGURE.figure.log_y


def test_listing_gives_every_item_a_status(result):
    rows = {row.name: row.status for row in listing({})}
    assert set(rows) == {*names(), "merit-fig1", "merit-table3"}
    assert rows["cones-fig1"] == "can be run" and rows["merit-fig1"].startswith("a drawing")
    record = json.loads(record_of({"cones-fig1": result.to_dict()}))
    for results, earlier, status in (
        ({"cones-fig1": result.to_dict()}, record, "holds (quick size)"),
        ({}, record, "holds (quick size), on record"),
    ):
        assert {row.name: row.status for row in listing(results, earlier)}["cones-fig1"] == status


def test_document_counts_clauses_and_has_a_chapter_for_each_outcome(result):
    text = document({"cones-fig1": result.to_dict()})
    assert "**Of 1 clauses, 1 hold.**" in text
    assert "| `merit-fig1` | Nguyen22 |" in text
    assert "## cones-fig1: " in text


def test_readme_and_documentation_state_how_many_clauses_hold():
    total, holding = re.findall(r"\d+", counted(read_record()))
    assert counted(read_record()) in (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"into {total} statements" in readme
    assert f"[{holding} hold, {int(total) - int(holding)} do not]" in readme


def test_the_list_has_every_experiment_of_the_package():
    assert list(experiments()) == names()
    assert all(row.paper in PAPERS for row in listing({}))


def test_the_list_is_shown_without_importing_an_experiment():
    code = (
        "import sys; from provenmf.cli.main import app; app(['reproduce'], "
        "standalone_mode=False); assert 'provenmf.reproduce.merit' not in sys.modules; "
        "assert 'sklearn' not in sys.modules"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "merit-table2" in shown.stdout


def test_the_page_from_papers_to_code_names_what_exists():
    text = (ROOT / "docs" / "papers.md").read_text("utf-8")
    paths = set(re.findall(r"`(?:tests/)?((?:unit|papers|properties)/[\w/]+\.py)`", text))
    assert len(paths) > 20 and [p for p in paths if not (ROOT / "tests" / p).exists()] == []
    rooms = "methods|linalg|metrics|reproduce|datasets|applications"
    names = set(re.findall(rf"`((?:{rooms})\.[\w.]+)`", text))
    assert len(names) > 20 and all(pkgutil.resolve_name(f"provenmf.{name}") for name in names)
