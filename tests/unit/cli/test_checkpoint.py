"""`--checkpoint` on the commands."""

from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from provenmf import Checkpoint, load
from provenmf.cli.main import app
from provenmf.errors import InvalidInput


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "arguments",
    [
        ((30, 8), "fit", "-m", "hals", "--max-iter", 20),
        ((5, 6, 8), "unmix", "-m", "merit"),
    ],
)
def test_a_command_goes_on_from_its_checkpoint(arguments, tmp_path, monkeypatch):
    often = partial(Checkpoint, seconds=0)
    monkeypatch.setattr("provenmf.methods.checkpoint.Checkpoint", often)
    shape, command, *options = arguments
    folder, data = tmp_path / "kept", tmp_path / "data.npy"
    rng = np.random.default_rng(0)
    np.save(data, (rng.random((30, 3)) @ rng.random((3, 8))).reshape(shape))
    common = [command, data, "-k", 3, *options, "--no-report", "--no-certify", "--force"]
    results = []
    for number in range(2):
        output = tmp_path / f"{number}.npz"
        done = run(*common, "--checkpoint", folder, "-o", output)
        assert done.exit_code == 0, done.output
        results.append(load(output))
    assert list(folder.glob("*.npz"))
    one, other = (getattr(result, "factorization", result) for result in results)
    np.testing.assert_array_equal(one.weights, other.weights)
    refused = run(*common, "-k", 2, "--checkpoint", folder, "-o", tmp_path / "3.npz")
    assert isinstance(refused.exception, InvalidInput)
    assert "belongs to another fit" in str(refused.exception)
