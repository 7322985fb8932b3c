import re
from importlib.metadata import EntryPoint

import pytest

from aex_cli.lazy_commands import GROUP, LazyCommands, Source
from aex_cli.main import call, exit_code_of


def test_the_version_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"]) == 0
    assert re.fullmatch(r"aex \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands_and_examples(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(arguments) == 0
    out = capsys.readouterr().out
    for word in (
        "up",
        "token",
        "deadletters",
        "ledger",
        "rollups",
        "lint",
        "verify",
        "aex token --role consumer --sub acme",
    ):
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
def test_mistakes_are_one_line_on_stderr_with_exit_code_2(
    arguments: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("aex: ")
    assert captured.err.count("\n") == 1
    assert names in captured.err


def test_a_mistake_of_ours_has_a_traceback_and_an_exit_code_that_no_verdict_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of(lambda: 1 // 0) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_broken_plug_in_is_named_and_the_others_work() -> None:
    commands = LazyCommands(
        {
            "ledger": Source(EntryPoint("ledger", "no_such_package:app", GROUP), "aex-settlement"),
            "token": Source(EntryPoint("token", "aex_cli.commands.token:app", GROUP), "aex-cli"),
        }
    )
    assert list(commands) == ["ledger", "token"]
    assert "aex-settlement" in commands["ledger"].help
    assert "no_such_package" in commands["ledger"].help
    assert commands["token"].name == "token"


def test_a_plug_in_may_be_a_function_or_an_app_but_nothing_else() -> None:
    def source(target: str) -> Source:
        return Source(EntryPoint("x", target, GROUP), "some-package")

    assert source("tests.libs.cli.test_main:plugged").load().help == "A plugged command."
    assert "neither" in (source("aex_cli.suite.service_spec:HOST").load().help or "")


def plugged() -> None:
    """A plugged command."""
