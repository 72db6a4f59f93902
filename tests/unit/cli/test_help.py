"""The help: no types of the program, no line that is cut at 80 columns."""

import re

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
def test_no_option_shows_a_type(command):
    listed = shown(command).partition("Options:")[2].partition("Commands:")[0]
    assert listed and not re.findall(r"<[a-z \[\]]+>", listed)
    assert not re.search(r"[{}]|<\w", shown(command))


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
