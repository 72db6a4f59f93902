"""A bounded run of the fuzzer with fixed cases, and every input that once failed."""

import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).with_name("fuzz.py")
PARTS = [
    ["files:corpus", "files:variable", "files"],
    ["estimators", "estimators:storage_case", "estimators:checkpoint_case"],
    ["applications", "advice", "odd", "commands"],
    ["options", "options:method_case", "options:chunk_case", "handlers", "handlers:step_case"],
]


@pytest.mark.parametrize("kinds", PARTS, ids=lambda kinds: kinds[-1].partition(":")[0])
def test_nothing_breaks_it(kinds):
    options = [f"--kind={kind}" for kind in kinds]
    ran = subprocess.run(
        [sys.executable, str(FUZZER), "--seconds", "20", "--cases", "200", *options],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "failures: 0" in ran.stdout
