"""The section of the reference on environment variables of services, commands and compose file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main

from aex_cli.main import build_app
from aex_cli.suite.service_spec import MODULES
from aex_models.frozen import read_attribute_docstrings
from aex_runtime.setting_types import IssuerSettings
from aex_runtime.settings import RuntimeSettings
from deploy.reference.fields import NONE, default_of, sentence, type_text, unit_of, walk_fields
from deploy.reference.tables import Section, table, table_of_keys

ROOT = Path(__file__).parents[2]
COMPOSE, EXAMPLE = "docker-compose.yml", ".env.example"
_INTRODUCTION = """\
An empty value is no value. Commands that open a store, such as `aex ledger verify`, also read the addresses of store,
bus and blobs. [`.env.example`](../.env.example) has the same variables as a file to copy."""
_COLUMNS = ("variable", "read by", "type", "default", "unit", "meaning")


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable as one of its readers declares it."""

    name: str
    reader: str
    type: str
    default: str
    unit: str
    meaning: str


def list_variables() -> Iterator[Section]:
    """Yield the table of all variables, by name with a row for each meaning, and keys of their JSON."""
    declared = [*_of_services(), *_of_compose()]
    readers: dict[tuple[str, ...], list[str]] = {}
    for each in declared:
        readers.setdefault((each.name, each.type, each.default, each.unit, each.meaning), []).append(each.reader)
    by_command = _of_commands()
    for name, command in by_command.items():
        if name not in {each.name for each in declared}:
            readers[(name, command.type, command.default, command.unit, command.meaning)] = []
    rows = []
    for (name, *cells), services in sorted(readers.items()):
        every = ["every service"] if set(services) == set(MODULES) else services
        commands = [by_command[name].reader] if name in by_command else []
        rows.append((f"`{name}`", ", ".join((*every, *commands)), *cells))
    yield Section("Environment variables", _INTRODUCTION, table(_COLUMNS, rows))
    yield Section("Keys of an issuer", "Each entry of `AEX_ISSUERS`.", table_of_keys(walk_fields(IssuerSettings)))


def _of_services() -> Iterator[Variable]:
    for service, module in MODULES.items():
        settings: type[RuntimeSettings] = import_module(f"{module}.settings").Settings
        schema, docs = settings.model_json_schema(), read_attribute_docstrings(settings)
        for name, field in settings.model_fields.items():
            alias = field.validation_alias if isinstance(field.validation_alias, str) else None
            type_ = type_text(schema["properties"][alias or name], schema.get("$defs", {}))
            meaning = sentence(docs.get(name), f"{module}.settings.Settings.{name}")
            variable = alias or f"AEX_{name}".upper()
            yield Variable(variable, service, type_, default_of(field), unit_of(name, type_), meaning)


def _of_commands() -> dict[str, Variable]:
    """Return the variables of the options of `aex`; the reader of each is a list of commands."""
    found: dict[str, Variable] = {}
    for path, option in _options(typer.main.get_command(build_app()), "aex"):
        before = found.get(option.envvar)
        reader = f"{before.reader}, `{path}`" if before else f"`{path}`"
        default = option.show_default if isinstance(option.show_default, str) else NONE
        meaning = sentence(option.help, f"{path}: the option of {option.envvar}")
        found[option.envvar] = Variable(option.envvar, reader, "text", default, NONE, meaning)
    return found


def _options(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in getattr(command, "commands", ()):
        yield from _options(command.get_command(None, name), f"{path} {name}")
    yield from ((path, each) for each in command.params if getattr(each, "envvar", None))


def _of_compose() -> Iterator[Variable]:
    """Yield the variables that the compose file alone reads, with the comments of `.env.example`."""
    compose = (ROOT / COMPOSE).read_text(encoding="utf-8")
    comments = _comments((ROOT / EXAMPLE).read_text(encoding="utf-8"))
    for name, default in sorted(set(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", compose))):
        yield Variable(
            name, f"`{COMPOSE}`", "text", f"`{default}`", NONE, sentence(comments.get(name), f"{EXAMPLE}: {name}")
        )


def _comments(example: str) -> Mapping[str, str]:
    """Return the comment above each variable."""
    found = re.findall(r"((?:^# .*\n)+)^#?([A-Z_]+)=", example, re.MULTILINE)
    return {name: re.sub(r"^# ", "", comment, flags=re.MULTILINE) for comment, name in found}
