"""The help: no types of the program, no line that is cut, at 80 and at 40 columns."""

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


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_80_columns(command):
    text = shown(command)
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_narrow_terminal_cuts_no_word_off(command):
    text = shown(command, 40)
    assert "…" not in text and "│" not in text
    assert "Show this message and" in " ".join(text.split())
    assert "..." not in text.partition("Commands:")[2]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_narrow_terminal_has_no_wider_line(command, columns):
    assert [line for line in shown(command, columns).splitlines() if len(line) > columns] == []


def test_folded_examples_are_the_same_commands():
    text = shown("topics", 40)
    whole = re.sub(r" \\\n +", " ", text)
    assert "provenmf topics posts.csv -k 8 --method spa -o spa.npz --json\n" in whole
    assert "# topics over time\n    provenmf topics letters.csv \\\n      -k 10 --by year" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_arguments_have_neither_braces_nor_types(command):
    assert not re.search(r"[{}]|<\w", shown(command))


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
