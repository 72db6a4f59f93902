import numpy as np

from provenmf.io.records import load


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
