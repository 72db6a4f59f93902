import base64
import io

import numpy as np
import pytest

from provenmf.report.pictures import data_uri, grey_levels

PIL = pytest.importorskip("PIL.Image", reason="Pillow decodes the pictures")


def test_picture_decodes_to_its_grey_levels():
    image = np.arange(12.0).reshape(3, 4)
    content = base64.b64decode(data_uri(image).split(",")[1])
    decoded = np.asarray(PIL.open(io.BytesIO(content)))
    np.testing.assert_array_equal(decoded, grey_levels(image))
    assert decoded.shape == (3, 4)


def test_constant_and_negative_images():
    assert grey_levels(np.zeros((2, 2))).max() == 0
    levels = grey_levels(np.array([[-1.0, 0.0, 1.0]]))
    assert levels.tolist() == [[0, 0, 255]]
