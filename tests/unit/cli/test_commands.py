"""Every command on good input: exit code 0, files written, readable at 80 columns, JSON parses."""

import json

import numpy as np
import pytest

from provenmf.cli.examples import MODELS
from provenmf.io.records import load


def assert_readable(text: str) -> None:
    assert max(map(len, text.splitlines()), default=0) <= 80, text


def test_fit_writes_result_and_report_and_says_what_is_guaranteed(run, separable, tmp_path):
    ran = run("fit", separable, "-k", 3, "--method", "spa")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    assert "relative error" in ran.out
    result = load(tmp_path / "separable-result.npz")
    assert sorted(result.anchors.tolist()) == [0, 1, 2]
    assert (tmp_path / "separable-result.html").read_text().startswith("<!doctype html>")


def test_fit_json_is_all_there_is_on_standard_output(run, separable):
    ran = run("fit", separable, "-k", 3, "--method", "spa", "--json", "--no-report")
    content = json.loads(ran.out)
    assert content["method"] == "spa"
    assert sorted(content["anchors"]) == [0, 1, 2]
    assert content["certificate"]["measures"]["relative_error"] < 1e-6
    assert list(content["files"]) == ["result"]


def test_fit_reads_a_matrix_on_disk_and_transposes(run, tmp_path):
    rng = np.random.default_rng(0)
    matrix = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), size=20)]) @ rng.random((3, 6))
    np.save(tmp_path / "rows.npy", matrix)
    np.save(tmp_path / "columns.npy", matrix.T)
    by_rows = run("fit", "rows.npy", "-k", 3, "-m", "spa", "--json", "--no-report")
    turned = run("fit", "columns.npy", "--transpose", "-k", 3, "-m", "spa", "--json", "--no-report")
    assert json.loads(by_rows.out)["anchors"] == json.loads(turned.out)["anchors"]


def test_certify_agrees_with_the_stored_certificate(run, separable, tmp_path):
    run("fit", separable, "-k", 2, "--method", "spa", "--no-report", "-o", "r.npz")
    ran = run("certify", "r.npz", separable, "--json")
    assert ran.code == 0, ran
    stored = load(tmp_path / "r.npz").certificate.to_dict()
    again = json.loads(ran.out)
    for name, value in stored["measures"].items():
        assert again["measures"][name] == pytest.approx(value, nan_ok=True), name
    decided = [check for check in stored["checks"] if check["status"] != "unknown"]
    assert decided and all(check in again["checks"] for check in decided)
    assert again["checks"][-1]["name"] == "data that the result names"
    assert again["checks"][-1]["status"] == "holds"


def test_topics_of_texts(run, corpus):
    ran = run("topics", corpus, "-k", 2, "--method", "spa")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    found = json.loads(run("topics", corpus, "-k", 2, "--method", "spa", "--json").out)
    assert found["n_rows"] == 60 and found["factorized"]["n_rows"] != 60
    assert any("coherence" in meaning for meaning in found["scores"])
    subjects = [set(c["largest"][:6]) for c in found["components"]]
    assert {"bread", "flour", "oven", "yeast", "crust", "salt"} in subjects
    assert {"ship", "sail", "harbour", "storm", "wave", "anchor"} in subjects


def test_topics_of_counts_and_their_certificate(run, counts):
    matrix, words = counts
    arguments = ("--vocabulary", words, "-k", 2, "--method", "spa", "--no-report", "-o", "t.npz")
    ran = run("topics", matrix, *arguments, "--json")
    assert ran.code == 0, ran
    again = run("certify", "t.npz", matrix, "--vocabulary", words, "--json")
    assert again.code == 0, again
    measured = json.loads(ran.out)["certificate"]["measures"]["relative_error"]
    assert json.loads(again.out)["measures"]["relative_error"] == pytest.approx(measured)


def test_communities_and_their_certificate(run, graph, tmp_path):
    ran = run("communities", graph, "-k", 2, "--method", "spa", "-o", "g.npz")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    memberships = load(tmp_path / "g.npz").memberships
    np.testing.assert_allclose(memberships.sum(axis=1), 1)
    again = run("certify", "g.npz", graph)
    assert again.code == 0, again
    assert_readable(again.out)


def test_unmix_finds_the_spectra(run, cube, tmp_path):
    ran = run("unmix", cube, "-k", 3, "--method", "spa")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    result, known = load(tmp_path / "cube-result.npz"), np.load(cube)["E"].T
    found = result.endmembers / np.linalg.norm(result.endmembers, axis=1, keepdims=True)
    cosines = found @ (known / np.linalg.norm(known, axis=1, keepdims=True)).T
    assert cosines.max(axis=0).min() > np.cos(0.05)
    assert run("certify", "cube-result.npz", cube).code == 0


def test_parts_of_images(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "images.npz", images=rng.random((20, 5, 6)))
    ran = run("parts", "images.npz", "-k", 2, "--method", "cones")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    assert run("certify", "images-result.npz", "images.npz").code == 0


@pytest.mark.parametrize("model", MODELS)
def test_generated_data_hold_the_truth(run, tmp_path, model):
    assert "random_state" not in run("generate").out
    ran = run("generate", model, "--random-state", 3)
    assert ran.code == 0, ran
    with np.load(tmp_path / f"{model}.npz", allow_pickle=False) as sample:
        assert {"weights", "memberships", "abundances"} & set(sample.files)


def test_diagnose_in_words_and_as_json(run, separable):
    ran = run("diagnose", separable, "--methods", "spa,cones")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    named = json.loads(run("diagnose", separable, "--methods", "spa", "--json").out)
    assert list(named["certificates"]) == ["spa"] and named["polished"] is None
    assert json.loads(run("diagnose", separable, "--json").out)["polished"] is not None


def test_reproduce_lists_every_table_and_figure(run):
    ran = run("reproduce", "--list")
    assert ran.code == 0
    assert_readable(ran.out)
    rows = json.loads(run("reproduce", "--list", "--json").out)
    assert all(row["name"] in ran.out for row in rows)  # names can be copied
    assert {"and-fig1", "and-table1", "cones-fig1", "merit-table4"} <= {row["name"] for row in rows}


def test_version_and_options_that_a_command_does_not_have(run, separable):
    import provenmf

    assert run("--version").out.strip() == f"provenmf {provenmf.__version__}"
    ran = run("report", separable, "--max-iter", 3)
    # Versions of click quote the option differently.
    assert ran.code == 2 and ran.err.startswith("Error: No such option")
    assert "--max-iter" in ran.err and "see provenmf report --help" in ran.err


def test_mail_leaves_out_headers_and_certify_does_the_same(run, tmp_path):
    rng = np.random.default_rng(0)
    subjects = (["ship", "sail", "harbour", "storm"], ["bread", "flour", "oven", "yeast"])
    rows = [
        {"text": f"From: writer{i}\n\n{' '.join(rng.choice(subjects[i % 2], size=9))}"}
        for i in range(40)
    ]
    (tmp_path / "mails.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ran = run("topics", "mails.jsonl", "-k", 2, "-m", "spa", "--mail", "--json", "--no-report")
    words = {word for c in json.loads(ran.out)["components"] for word in c["largest"]}
    assert words == {*subjects[0], *subjects[1]}
    again = run("certify", "mails-result.npz", "mails.jsonl", "--mail", "--json")
    measured = json.loads(ran.out)["certificate"]["measures"]["relative_error"]
    assert json.loads(again.out)["measures"]["relative_error"] == pytest.approx(measured)


def test_names_in_a_table_are_shown(run, tmp_path):
    lines = ["name,apples,pears", "ann,3,0", "bob,0,2", "cid,1,1"]
    (tmp_path / "fruit.csv").write_text("\n".join(lines))
    ran = run("fit", "fruit.csv", "-k", 2, "-m", "spa", "-o", "r.npz")
    assert ran.code == 0
    for name in ("ann", "bob", "apples", "pears"):
        assert name in ran.out
        assert name in (tmp_path / "r.html").read_text()
    assert "cid" in (tmp_path / "r.html").read_text()


def test_numbers_of_topics_of_texts_are_compared(run, tmp_path):
    rng = np.random.default_rng(0)
    subjects = [[f"w{s}{i}" for i in range(12)] for s in "abc"]
    lines = ["title,body"]
    for number in range(150):
        lines.append(f'"text {number}","{" ".join(rng.choice(subjects[number % 3], 15))}"')
    path = tmp_path / "posts.csv"
    path.write_text("\n".join(lines))
    found = json.loads(run("rank", path, "--field", "body", "--ranks", "2,3,5", "--json").out)
    assert found["best"] == 3 and found["numbers"] == [2, 3, 5]
    assert "3 topics" in run("rank", path, "--field", "body", "--ranks", "2,3").out
    table = tmp_path / "texts.csv"  # a column "text" is read as texts, as `topics` does
    table.write_text(path.read_text().replace("body", "text", 1))
    assert "3 topics" in run("rank", table, "--ranks", "2,3").out


def test_documents_have_names_from_a_column(run, tmp_path, corpus):
    lines = corpus.read_text().splitlines()
    table = "text,title\n" + "\n".join(f"{line},title {n}" for n, line in enumerate(lines))
    (tmp_path / "posts.csv").write_text(table)
    ran = run("topics", tmp_path / "posts.csv", "-k", 2, "--name-column", "title", "--no-report")
    assert ran.code == 0, ran
    assert load(tmp_path / "posts-result.npz").row_names[7] == "title 7"
    wrong = run("topics", tmp_path / "posts.csv", "-k", 2, "--name-column", "name", "--force")
    assert wrong.code == 2 and "no column 'name': choose one of text, title" in wrong.err


def test_a_fit_goes_on_from_its_checkpoint(run, separable):
    common = ["fit", separable, "-m", "hals", "--max-iter", 20, "--no-report", "--no-certify"]
    common += ["--no-evidence", "--checkpoint", "kept", "-k"]
    for output in ("one.npz", "two.npz"):
        assert run(*common, 3, "-o", output).code == 0
    assert load("one.npz") == load("two.npz")
    refused = run(*common, 2, "-o", "three.npz")
    assert refused.code == 2 and "belongs to another fit" in refused.err
