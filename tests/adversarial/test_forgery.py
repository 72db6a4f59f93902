"""A short run of tests/adversarial/forgery.py: forged files keep no false statement."""

import forgery


def test_forged_files_keep_no_false_statement():
    table, tally = forgery.run(["spa", "hals", "cones"], every=23)
    counts = sum(table.values(), forgery.Counter())
    assert not tally.false and not tally.crashes
    assert counts["unmarked"] == 0
    assert counts["files"] == counts["refused"] + counts["unchanged"] + counts["other"] >= 20


def test_other_factors_in_the_file_change_what_is_said(tmp_path):
    """The forgeries are real: weights of zero are loaded, and the certificate tells their error."""
    result, data = forgery.fitted("hals")
    result.save(tmp_path / "result.npz")
    forged = dict(forgery.forgeries(forgery.np.random.default_rng(0), tmp_path / "result.npz"))
    forgery.np.savez(tmp_path / "forged.npz", **forged["array weights: zero"])
    record = forgery.load(tmp_path / "forged.npz")
    assert not record.weights.any()
    assert forgery.certify(data, record).measures["relative_error"] == 1
