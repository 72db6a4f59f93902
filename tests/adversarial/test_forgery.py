"""Some forged files of tests/adversarial/forgery.py keep no false statement."""

from collections import Counter

import forgery
import pytest


@pytest.mark.parametrize("method", ["spa", "hals", "cones"])
def test_forged_files_keep_no_false_statement(method):
    numbers = range(0, len(forgery.forged_files(method)[-1]), 23)
    ends = Counter(forgery.outcome(method, number) for number in numbers)
    assert ends["refused"] and ends["unchanged"] + ends["other"]


def test_other_factors_in_the_file_change_what_is_said(tmp_path):
    """The forgeries are real: weights of zero are loaded, and the certificate tells their error."""
    data, _, _, forged = forgery.forged_files("hals")
    forgery.np.savez(tmp_path / "forged.npz", **dict(forged)["array weights: zero"])
    record = forgery.load(tmp_path / "forged.npz")
    assert not record.weights.any()
    assert forgery.certify(data, record).measures["relative_error"] == 1
