"""Evidence on unseen rows for whole results: groups, samples, and data that cannot be judged."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from provenmf import HALS, SPA, InvalidInput, confirm, find_communities
from provenmf.cli.main import app
from provenmf.methods import unseen_rows
from provenmf.methods.unseen_rows import dependence_of_rows
from provenmf.results import ErrorBars

RNG = np.random.default_rng(0)
ROWS = RNG.dirichlet([0.3] * 3, 200) @ RNG.random((3, 12)) + 0.01 * RNG.random((200, 12))


def fitted(X, k=3):
    return HALS(k, random_state=0, certify=False, max_iter=50).fit(X).factorization_


def evidence_of(X, k=3, **options):
    return confirm(X, fitted(X, k), **options).certificate.evidence


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["identical rows", "mostly zero rows", "one column"])
def test_odd_rows_are_judged_without_a_crash(kind):
    X = {
        "identical rows": np.tile(ROWS[:1], (60, 1)),
        "mostly zero rows": np.vstack([ROWS[:30], np.zeros((170, 12))]),
        "one column": np.where(np.arange(12) == 3, RNG.random((60, 12)), 0.0),
    }[kind]
    evidence = evidence_of(X, 2)
    assert len(evidence.judgements) == len(fitted(X, 2).components)
    assert len(evidence.confirmed) <= 1 or kind == "mostly zero rows"


@pytest.mark.filterwarnings("ignore")
def test_missing_entries_cannot_be_judged():
    evidence = evidence_of(np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS), 2)
    assert set(evidence.judgements) == {"cannot be judged"} and "missing" in evidence.reason


def test_one_row_per_group_is_as_without_groups():
    by_group = evidence_of(ROWS, groups=np.arange(200))
    assert replace(by_group, units="") == evidence_of(ROWS)


def test_a_sample_of_many_rows_is_said(monkeypatch):
    monkeypatch.setattr(unseen_rows, "SETTINGS", unseen_rows.Settings(most_rows=100))
    found = confirm(ROWS, fitted(ROWS), groups=np.arange(200))
    assert found.certificate.evidence.sampled_from == 200
    assert found.certificate.evidence.n_units == 100
    assert "a random sample of the 200 rows" in " ".join(str(found.certificate).split())


@pytest.mark.parametrize("groups", [[1, 2], np.ones((200, 2))])
def test_wrong_groups_are_named(groups):
    with pytest.raises(InvalidInput, match="groups"):
        confirm(ROWS, fitted(ROWS), groups=groups)


def test_groups_of_nodes_are_refused():
    graph = sp.csr_array(np.kron(np.eye(2), np.ones((30, 30))) - np.eye(60))
    found = find_communities(graph, 2, evidence=False, certify=False)
    with pytest.raises(InvalidInput, match="leave out groups"):
        confirm(graph, found, groups=np.arange(60))


def test_the_command_line_takes_groups_from_a_file(tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    (tmp_path / "groups.txt").write_text("\n".join(str(i // 20) for i in range(200)))
    command = ["fit", str(tmp_path / "x.npy"), "-k", "3", "--groups", str(tmp_path / "groups.txt")]
    command += ["-o", str(tmp_path / "result.npz")]
    done = CliRunner().invoke(app, [*command, "--no-report", "--json"])
    assert done.exit_code == 0, done.output
    evidence = json.loads(done.stdout)["certificate"]["evidence"]
    assert "10 groups of rows" in evidence["reason"]


def test_error_bars_of_unconfirmed_components_get_a_note():
    noise = np.random.default_rng(1).random((60, 12))
    bars = ErrorBars(*[np.ones((3, 12))] * 3, "nothing", 10, np.ones(3))
    found = confirm(noise, replace(fitted(noise), error_bars=bars))
    rest = [j + 1 for j in range(3) if j not in found.certificate.evidence.confirmed]
    assert rest and "do not confirm component " + ", ".join(map(str, rest)) in found.notes[-1]
    assert confirm(noise, fitted(noise)).notes == fitted(noise).notes


@pytest.mark.filterwarnings("ignore")
def test_equal_rows_are_not_doubted():
    """Rows of zeros at the end of a file were said to have similar residuals; they judge once."""
    rng = np.random.default_rng(0)
    rows = np.zeros((200, 20))
    rows[:100] = rng.dirichlet([0.3] * 3, 100) @ rng.random((3, 20)) + 0.05 * rng.random((100, 20))
    assert not evidence_of(rows).doubt


@pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")
def test_a_single_row_has_no_neighbors():
    rows = np.tile(np.random.default_rng(0).random(20), (50, 1))
    assert dependence_of_rows(rows, SPA(1).fit(rows).factorization_, np.arange(50)) == (None, "")


def recurring(times, changed, n=200):
    """Return rows without structure that come back in the same order, a little changed."""
    rng = np.random.default_rng(3)
    once = 5 + rng.standard_normal((n // times, 20))
    return np.tile(once, (times, 1)) + changed * rng.standard_normal((n, 20))


@pytest.mark.filterwarnings("ignore")
def test_rows_that_recur_stay_in_one_half():
    X = recurring(4, 0.2)
    units, doubt = dependence_of_rows(X, fitted(X), np.arange(200))
    assert (units == np.tile(units[:50], 4)).all() and 45 < len(np.unique(units))
    assert doubt == "Many rows nearly repeat others"
    evidence = evidence_of(X)
    assert evidence.n_units <= 50 and evidence.assumes == "rows are independent"
    assert dependence_of_rows(ROWS, fitted(ROWS), np.arange(200)) == (None, "")


@pytest.mark.filterwarnings("ignore")
def test_rows_that_recur_beyond_those_compared_are_doubted(monkeypatch):
    monkeypatch.setattr(unseen_rows, "SETTINGS", unseen_rows.Settings(neighbors=150))
    assert "nearly repeat" in evidence_of(recurring(4, 0.2)).doubt


def test_a_series_is_doubted():
    """Of 40 walks without structure 29 had components confirmed, and all were doubted."""
    rng = np.random.default_rng(2)
    drift = np.cumsum(rng.standard_normal((300, 12)), axis=0)
    series = np.maximum(ROWS[:1] + 0.02 * drift, 0)
    assert "Neighboring rows have similar residuals" in evidence_of(series).doubt
    assert "nearly repeat others" in evidence_of(series[rng.permutation(300)]).doubt
    assert not evidence_of(series, groups=np.arange(300) // 10).doubt
