"""Every command of `aex` that a document shows is there, with its options."""

import re
import tomllib
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer.main

from aex_cli.main import build_app
from tests.docs.documents import DOCUMENTS, RUN, blocks_of, name_of, prose_of, text_of

AEX: Any = typer.main.get_command(build_app())
OF_ALL = {"--help", "--version"}


def commands_in(text: str) -> list[str]:
    """Return the commands after `aex` in shell blocks and inline code."""
    shell = "\n".join(block.text for block in blocks_of(text) if block.kind == RUN)
    typed = re.findall(r"(?:^|[(|;&] *|--rm )aex ([a-z][^|;)#\n]*)", shell, re.MULTILINE)
    typed += re.findall(r"`aex ([a-z][^`]*)`", prose_of(text))
    return [command for command in typed if command.split()[0] not in own_commands_of(text)]


def own_commands_of(text: str) -> set[str]:
    """Return the commands that the document's example of a package adds."""
    declared = [
        tomllib.loads(block.text)["project"]["entry-points"] for block in blocks_of(text) if block.kind == "toml"
    ]
    return {name for groups in declared for name in groups.get("aex.commands", {})} - set(AEX.commands)


def unknown_in(command: str) -> list[str]:
    """The words and options of a command that there are not."""
    part: Any = AEX
    words = command.split()
    while words and hasattr(part, "commands"):
        word = words.pop(0)
        if "|" in word:  # one of several, each of which has to be there
            return [each for each in word.split("|") if each not in part.commands]
        if word == "…":
            return []
        if word not in part.commands:
            return [word]
        part = part.get_command(None, word)
    options = {option for parameter in part.params for option in parameter.opts} | OF_ALL
    unknown = [option for option in re.findall(r"(?<!\S)--[a-z-]+", command) if option not in options]
    return unknown + [
        f"{option} {value}" for option, value in _values_in(command) if not _is_allowed(part, option, value)
    ]


def _values_in(command: str) -> list[tuple[str, str]]:
    """Return the options with plain values; variables and placeholders are none."""
    return re.findall(r"(?<!\S)(--[a-z-]+)[ =]([a-z0-9][\w.-]*)(?!\S)", command)


def _is_allowed(command: Any, option: str, value: str) -> bool:
    """Return whether an option is a switch, takes any value, or has this choice."""
    kinds = [each.type_descriptor.annotation for each in command.params if option in each.opts]
    choices = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Enum)]
    return all(value in {str(each.value) for each in kind} for kind in choices)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("token --role consumer --sub acme", []),
        ("token --role judge --sub acme", ["--role judge"]),
        ("token --rule consumer", ["--rule"]),
        ("tokens", ["tokens"]),
        ("outbox list|drop", ["drop"]),
        ("outcomes export --format $FORMAT", []),
    ],
)
def test_unknown_words_options_and_choices_are_found(command: str, expected: list[str]) -> None:
    assert unknown_in(command) == expected


def help_texts(part: Any, path: str = "aex") -> dict[str, str]:
    """Return the help and the examples of a command and of those below it."""
    own = {path: f"{part.help or ''}\n{part.epilog or ''}"}
    for name in getattr(part, "commands", ()):
        own |= help_texts(part.get_command(None, name), f"{path} {name}")
    return own


def test_examples_in_help_are_there_with_their_options() -> None:
    found = {path: commands_in(text) for path, text in help_texts(AEX).items()}
    assert sum(map(len, found.values())) >= 15
    assert {each: unknown_in(each) for commands in found.values() for each in commands if unknown_in(each)} == {}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_is_there_with_its_options(document: Path) -> None:
    assert {command: unknown_in(command) for command in commands_in(text_of(document)) if unknown_in(command)} == {}
