"""The help: no line that is cut at 80 columns, and an example of every command."""

import pytest
import typer
from typer.testing import CliRunner

from provenmf.cli.main import app

COMMANDS = ["", *typer.main.get_group(app).commands]


def shown(command, columns=80):
    result = CliRunner().invoke(
        app, [*command.split(), "--help"], env={"COLUMNS": str(columns), "TERM": "dumb"}
    )
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_80_columns(command):
    text = shown(command)
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text


def test_every_command_has_an_example():
    assert [c for c in COMMANDS[1:] if f"provenmf {c}" not in shown(c)] == []


def test_the_shell_completes_commands():
    environment = {
        "_PROVENMF_COMPLETE": "complete_bash",
        "COMP_WORDS": "provenmf to",
        "COMP_CWORD": "1",
    }
    result = CliRunner().invoke(app, [], prog_name="provenmf", env=environment)
    assert result.output.split() == ["topics"]
