import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from aex_cli.lazy_commands import GROUP, CommandSource, LazyGroup
from aex_cli.main import run_and_report_errors, run_command_line


def test_version_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["--version"]) == 0
    assert re.fullmatch(r"aex \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands_and_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(arguments) == 0
    out = capsys.readouterr().out
    example = "aex token --role consumer --sub acme"
    for word in ("up", "token", "deadletters", "ledger", "rollups", "lint", "verify", example):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["tokn"], "'token'"),
        (["up", "--port-base", "eight"], "--port-base"),
        (["up", "--port-base", "65533"], "65532"),
        (["up", "--port-base", "65532", "--replicas", "2"], "8 ports from 65532 on"),
        (["up", "--replicas", "0"], "--replicas"),
        (["up", "--replicas", "10"], "--replicas"),
        (["token", "--role", "consumer"], "--sub"),
        (["token", "--role", "boss", "--sub", "x"], "consumer"),
        (["--no-such-option"], "--no-such-option"),
        (["up", "--config", "/nowhere.yaml"], "/nowhere.yaml"),
    ],
)
def test_bad_arguments_are_one_line_with_exit_code_2(
    arguments: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("aex: ")
    assert captured.err.count("\n") == 1
    assert names in captured.err


def test_defect_has_a_traceback_and_exit_code_70(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_and_report_errors(lambda: 1 // 0) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_broken_plug_in_is_named_and_the_others_load() -> None:
    group = LazyGroup(name="aex")
    group.commands = {
        "ledger": CommandSource(EntryPoint("ledger", "no_such_package:app", GROUP), "aex-settlement"),
        "token": CommandSource(EntryPoint("token", "aex_cli.commands.token:app", GROUP), "aex-cli"),
    }
    assert group.list_commands(None) == ["ledger", "token"]
    broken = group.get_command(None, "ledger")
    assert "aex-settlement" in broken.help
    assert "no_such_package" in broken.help
    assert group.get_command(None, "token").name == "token"
    assert group.get_command(None, "no such command") is None


def test_plug_in_is_a_function_or_an_app() -> None:
    def source(target: str) -> CommandSource:
        return CommandSource(EntryPoint("x", target, GROUP), "some-package")

    assert source("tests.libs.cli.test_main:plugged").load().help == "A plugged command."
    assert "neither" in (source("aex_cli.suite.service_spec:HOST").load().help or "")


def plugged() -> None:
    """A plugged command."""


def test_command_starts_without_the_web_framework() -> None:
    code = "import sys, aex_cli.main; print(*{'fastapi', 'pydantic', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout == b"\n"
