import numpy as np

from provenmf.records import Factorization
from provenmf.report.answer import answer_of


def test_unmixing_puts_masked_pixels_back(results):
    answer = answer_of(results["unmixing"])
    assert answer.image_shape == (30, 20)
    assert answer.weights.shape == (600, 3)
    assert np.isnan(answer.weights[0]).all()
    assert answer.share.sum() == np.float64(1) or abs(answer.share.sum() - 1) < 1e-12
    assert answer.anchor_name(0) == "row 0, column 1"


def test_topics_are_read_from_the_extras(results):
    result = results["topics"]
    answer = answer_of(result)
    np.testing.assert_array_equal(answer.components, result.extras["topics"])
    assert answer.anchor_name(1) == "word7"


def test_a_bare_record_is_its_own_answer():
    bare = Factorization("spa", np.eye(3), np.eye(3), anchors=np.array([2, 0, 1]))
    answer = answer_of(bare)
    assert answer.kind == "matrix"
    assert answer.anchor_name(0) == "row 3"
    assert answer.column_names == ["column 1", "column 2", "column 3"]


def test_names_of_the_wrong_length_are_not_used():
    bare = Factorization("spa", np.eye(2), np.eye(2), extras={"row_names": np.array(["only one"])})
    assert answer_of(bare).row_names == ["row 1", "row 2"]
