"""Every command on good input: exit code 0, files written, readable at 80 columns, JSON parses."""

import json

import numpy as np
import pandas
import pytest

import provenmf
from provenmf.io.records import load


def assert_readable(text: str) -> None:
    assert max(map(len, text.splitlines()), default=0) <= 80, text


def test_fit_writes_result_and_report_and_says_what_is_guaranteed(run, separable, tmp_path):
    ran = run("fit", separable, "-k", 3, "--method", "spa")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    assert "The fit is exact up to rounding." in " ".join(ran.out.split())
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


@pytest.mark.parametrize("kind", ["npz", "spectra.npz", "csv"])
def test_unmix_compares_with_known_spectra_in_some_pixels(run, cube, tmp_path, kind):
    known, truth = np.load(cube), cube
    if kind == "spectra.npz":
        truth = tmp_path / "spectra.npz"
        np.savez(truth, E=known["E"])
    elif kind == "csv":
        truth = tmp_path / "spectra.csv"
        pandas.DataFrame(known["E"].T, ["soil", "tree", "water"]).to_csv(truth)
    mask = np.ones((8, 9))
    mask[7] = 0
    np.save(tmp_path / "mask.npy", mask)
    given = ("--key", "cube", "--truth", truth, "--mask", "mask.npy", "--no-certify", "--json")
    ran = run("unmix", cube, "-k", 3, *given)
    assert ran.code == 0, ran
    found = json.loads(ran.out)
    assert found["n_rows"] == 63
    assert len(found["scores"]) == 1 + (kind == "npz")
    assert max(found["scores"].values()) < 0.02


def test_negative_entries_are_clipped_on_request_and_said_once(run, tmp_path):
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet([0.3] * 2, 60) @ rng.random((2, 8)) + 0.05 * rng.standard_normal((60, 8))
    np.savetxt(tmp_path / "m.csv", matrix, delimiter=",")
    ran = run("fit", "m.csv", "-k", 2, "--no-report")
    assert ran.code == 2 and "do with --clip-negative" in ran.err, ran
    ran = run("fit", "m.csv", "-k", 2, "--no-report", "--clip-negative")
    assert ran.code == 0 and ran.err.count("negative entries") == 1, ran


def test_long_names_that_begin_alike_are_told_apart(run, tmp_path):
    """They were all cut to the same beginning."""
    values = np.kron(np.eye(2), np.ones((10, 2))) + 0.01
    names = [
        f"a long description of a variable that a station measured, number {i}" for i in "abcd"
    ]
    pandas.DataFrame(values, columns=names).to_csv(tmp_path / "m.csv")
    ran = run("fit", "m.csv", "-k", 2, "-m", "spa", "--no-report")
    assert ran.code == 0 and "number a" in ran.out and "number c" in ran.out, ran


def test_parts_of_images(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "images.npz", images=rng.random((20, 5, 6)))
    ran = run("parts", "images.npz", "-k", 2, "--method", "cones")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    assert run("certify", "images-result.npz", "images.npz").code == 0


def test_diagnose_in_words_and_as_json(run, separable):
    ran = run("diagnose", separable, "--methods", "spa,cones")
    assert ran.code == 0, ran
    assert_readable(ran.out)
    named = json.loads(run("diagnose", separable, "--methods", "spa", "--json").out)
    assert list(named["certificates"]) == ["spa"]
    assert "hals" in json.loads(run("diagnose", separable, "--json").out)["certificates"]


def test_reproduce_lists_every_table_and_figure(run):
    ran = run("reproduce")
    assert ran.code == 0
    assert_readable(ran.out)
    rows = json.loads(run("reproduce", "--json").out)
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


@pytest.mark.parametrize("option, certified", [("--no-evidence", True), ("--no-certify", False)])
def test_the_evidence_can_be_left_out(run, separable, option, certified):
    shared = ["fit", separable, "-k", 3, "-m", "spa", "-o", "one.npz", "--no-report"]
    assert run(*shared, option).code == 0
    certificate = load("one.npz").certificate
    assert (certificate is not None) == certified
    assert certificate is None or certificate.evidence is None


def test_a_fit_goes_on_from_its_checkpoint(run, separable):
    common = ["fit", separable, "-m", "hals", "--max-iter", 20, "--no-report", "--no-certify"]
    common += ["--checkpoint", "kept", "-k"]
    for output in ("one.npz", "two.npz"):
        assert run(*common, 3, "-o", output).code == 0
    assert load("one.npz") == load("two.npz")
    refused = run(*common, 2, "-o", "three.npz")
    assert refused.code == 2 and "belongs to another fit" in refused.err


@pytest.fixture
def with_gaps(tmp_path):
    rng = np.random.default_rng(0)
    rows = (rng.random((20, 2)) @ rng.random((2, 5))).round(4).astype(str)
    rows[0, 1], rows[3, 4], rows[7, 0] = "", "NA", "nan"
    path = tmp_path / "gaps.csv"
    lines = ["name,a,b,c,d,e"] + [",".join([f"r{i}", *row]) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("method", ["auto", "hals", "anls"])
def test_empty_cells_are_missing(run, with_gaps, tmp_path, method):
    ran = run("fit", with_gaps, "-k", 2, "-m", method, "-o", "r.npz", "--no-report", "--json")
    assert ran.code == 0, ran
    found = json.loads(ran.out)
    assert found["n_rows"] == 20 and "are missing" in found["certificate"]["verdict"]
    record = provenmf.load(tmp_path / "r.npz")
    assert record.row_names[0] == "r0" and np.isfinite(record.weights).all()


def test_methods_that_need_all_entries_say_which_is_missing(run, with_gaps):
    ran = run("fit", with_gaps, "-k", 2, "-m", "spa", "--no-report")
    assert ran.code == 2
    assert "row 1, column 3: the value is missing" in ran.err
    assert "hals and anls work with missing values" in ran.err
    with_gaps.write_text(with_gaps.read_text().replace("NA", "much"))
    ran = run("fit", with_gaps, "-k", 2, "--no-report")
    assert ran.code == 2 and "row 4, column 6: 'much' is not a number" in ran.err


def test_known_components_are_kept(run, separable, tmp_path):
    known = np.random.default_rng(1).random((2, 8))
    np.save(tmp_path / "known.npy", known)
    ran = run(
        "fit", separable, "-k", 3, "--known-components", "known.npy", "-o", "r.npz", "--no-report"
    )
    assert ran.code == 0, ran
    np.testing.assert_array_equal(provenmf.load(tmp_path / "r.npz").components[:2], known)
    ran = run(
        "fit", separable, "-k", 3, "-m", "spa", "--known-components", "known.npy", "--no-report"
    )
    assert ran.code == 2 and "--known-components" in ran.err and "is not an option of" in ran.err


def test_rank_prints_a_table(run, separable):
    ran = run("rank", separable, "--ranks", "1-4")
    assert ran.code == 0, ran
    assert "held-out error" in ran.out and "components" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize(
    "options, words",
    [
        (("--ranks", "two"), "not a list of numbers"),
        (("--ranks", "²"), "not a list of numbers"),
        (("--ranks", "1-99999999999"), "too large"),
        (("--random-state", -1), "--random-state"),
    ],
)
def test_wrong_options_of_rank(run, separable, options, words):
    ran = run("rank", separable, *options)
    assert ran.code == 2 and words in ran.err


def test_demo_finds_what_is_there_and_writes_everything(run, tmp_path, monkeypatch):
    """On a small corpus in place of the standard library, which takes longer to read."""
    rng = np.random.default_rng(0)
    subjects = [[f"{subject}{i}" for i in range(12)] for subject in ("socket", "digit", "widget")]
    texts = [" ".join(rng.choice(subjects[i % 3], size=4)) for i in range(120)]
    monkeypatch.setattr(
        "provenmf.datasets.real.standard_library_docstrings",
        lambda: (texts, [f"module{i}" for i in range(120)]),
    )
    ran = run("demo", "--output", "shown")
    assert ran.code == 0, ran
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "Rank correlation with the known memberships" in ran.out
    for name in ("topics", "communities", "parts"):
        assert load(tmp_path / "shown" / f"{name}.npz").certificate is not None
        assert "</html>" in (tmp_path / "shown" / f"{name}.html").read_text()


def test_demo_needs_a_folder_it_can_make(run, tmp_path):
    (tmp_path / "file").touch()
    ran = run("demo", "--output", "file")
    assert ran.code == 2
    assert "file" in ran.err
