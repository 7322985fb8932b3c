"""Settlement's commands are found by `aex`, and the service itself does without what they need."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from aex_cli.main import call


def test_the_commands_are_entry_points() -> None:
    named = {each.name: each.value for each in entry_points(group="aex.commands")}
    assert named["ledger"] == "aex_settlement.commands.ledger:app"
    assert named["rollups"] == "aex_settlement.commands.rollups:app"


@pytest.mark.parametrize(
    ("arguments", "words"), [(["ledger", "verify", "--help"], "--seal"), (["rollups", "rebuild", "--help"], "--only")]
)
def test_their_help_names_their_options(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(arguments) == 0
    assert words in capsys.readouterr().out


@pytest.mark.slow
def test_the_service_runs_without_what_the_command_line_needs() -> None:
    logged = subprocess.run(
        [sys.executable, "-c", "import sys, aex_settlement.main; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"typer", "aex_runtime.commandline", "aex_settlement.commands"} & set(logged.stdout.split())
