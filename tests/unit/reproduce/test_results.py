import csv
import json
import pkgutil
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import provenmf.reproduce
from provenmf.reproduce.catalogue import ITEMS, PAPERS, document, experiments, listing
from provenmf.reproduce.experiment import Experiment, Figure, Outcome, Series, Settings
from provenmf.reproduce.results import Result, draw, page_of, write_result
from provenmf.reproduce.stored import read_record, read_results, record_of

FIGURE = Figure(
    "Error", "n", "error", [Series("ours", [1, 2], [0.1, 0.01]), Series("paper", [1], [0.2], True)]
)


def run(settings: Settings) -> Outcome:
    table = [{"n": 1, "error": np.float64(0.1)}, {"n": 2, "error": 0.01, "more | text": "<b>"}]
    return Outcome({"A table": table}, "It holds.", True, [FIGURE])


EXPERIMENT = Experiment("cones-fig1", "Liu17", "A figure", "A claim.", run)


@pytest.fixture
def result():
    return Result(EXPERIMENT, run(Settings()), quick=True, seed=3, seconds=1.25)


def test_files_of_a_result(result, tmp_path):
    folder = tmp_path / "new" / "folder"
    files = {path.name: path for path in write_result(result, folder)}
    assert set(files) == {"cones-fig1.html", "cones-fig1.json", "cones-fig1-a-table.csv"}
    assert read_results(folder)["cones-fig1"] == result.to_dict()
    with files["cones-fig1-a-table.csv"].open() as file:
        assert list(csv.DictReader(file))[1] == {"n": "2", "error": "0.01", "more | text": "<b>"}


def test_numpy_numbers_become_plain_json(result):
    assert json.loads(json.dumps(result.to_dict()))["tables"]["A table"][0]["error"] == 0.1


def test_foreign_files_in_the_folder_are_ignored(tmp_path):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[1]")
    assert read_results(tmp_path) == {}
    assert read_results(tmp_path / "missing") == {}


def test_page_holds_claim_verdict_and_escaped_table(result):
    page = page_of(result)
    assert "A claim." in page and "It holds." in page
    assert "&lt;b&gt;" in page


def test_the_papers_curves_are_dotted():
    assert list(draw(FIGURE).dotted) == [series.name for series in FIGURE.series if series.paper]


def test_listing_gives_every_item_a_status(result):
    rows = {row.name: row.status for row in listing({})}
    assert set(rows) == {item.name for item in ITEMS}
    assert rows["cones-fig1"] == "can be run"
    done = {row.name: row.status for row in listing({"cones-fig1": result.to_dict()})}
    assert done["cones-fig1"] == "holds (quick size)"


def test_document_is_a_table_and_a_chapter_for_each_outcome(result):
    text = document({"cones-fig1": result.to_dict()})
    assert "| `merit-fig1` | Nguyen22 |" in text
    assert "## cones-fig1: A figure" in text
    assert "more \\| text" in text


def test_the_list_has_every_experiment_of_the_package():
    declared = [
        experiment.name
        for module in pkgutil.iter_modules(provenmf.reproduce.__path__)
        for experiment in getattr(
            import_module(f"provenmf.reproduce.{module.name}"), "EXPERIMENTS", ()
        )
    ]
    assert sorted(declared) == sorted(item.name for item in ITEMS if not item.reason)
    assert experiments().keys() == set(declared)
    assert all(item.paper in PAPERS for item in ITEMS)


def test_the_list_is_shown_without_importing_an_experiment():
    code = (
        "import sys; from provenmf.cli.main import app; app(['reproduce', '--list'], "
        "standalone_mode=False); assert 'provenmf.reproduce.merit' not in sys.modules; "
        "assert 'sklearn' not in sys.modules"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "merit-table2" in shown.stdout


def test_outcomes_on_record_are_listed(result):
    record = json.loads(record_of({"cones-fig1": result.to_dict()}))
    assert record["cones-fig1"]["verdict"] == "It holds."
    rows = {row.name: row.status for row in listing({}, record)}
    assert rows["cones-fig1"] == "holds (quick size), on record"
    own = listing({"cones-fig1": result.to_dict()}, record)
    assert {row.name: row.status for row in own}["cones-fig1"] == "holds (quick size)"


def test_the_package_has_a_record_of_every_experiment():
    assert read_record().keys() == experiments().keys()
