"""Files of JSON or YAML, and standard input; what the services would refuse is refused here."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aex_cli.offline.yaml_text import NotYaml, json_text, parse_yaml
from aex_models.work import Problem
from aex_runtime.commandline.errors import UserError
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import parse_strict

STDIN = "-"
MAX_BYTES = 10_000_000
"""What a request to a service may have."""
_JSON, _YAML = frozenset({".json"}), frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class Document:
    """A file's value, and the name by which its user knows it."""

    name: str
    value: Any


class BadFile(UserError):
    """A file that cannot be used, with everything that is wrong with it: a line for each."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)

    def text(self) -> str:
        """The lines, as they are told one below the other."""
        return "\naex: ".join(" ".join(line.split()) for line in self.lines)


def read_document(option: str, path: str) -> Document:
    """The value of a file, or of standard input for `-`. Raises `UserError`, naming the file and the fix."""
    name = "standard input" if path == STDIN else path
    raw = _read(option, path, name).removeprefix(b"\xef\xbb\xbf")
    if not raw.strip():
        raise UserError(f"{name} is empty", f"give {option} a file of JSON or YAML")
    if len(raw) > MAX_BYTES:
        raise UserError(f"{name} has more than {MAX_BYTES // 1_000_000} MB", "no service would take it")
    return Document(name, _parsed(name, raw, Path(path).suffix.lower()))


def _read(option: str, path: str, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1) if path == STDIN else _beginning_of(Path(path))
    except FileNotFoundError:
        raise UserError(f"there is no file {name}", f"check the path given to {option}") from None
    except IsADirectoryError:
        raise UserError(f"{name} is a directory", f"give {option} a file") from None
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}", f"check the path given to {option}") from None


def _beginning_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _parsed(name: str, raw: bytes, suffix: str) -> Any:
    """By the suffix; without one that is known, what begins like JSON's objects and arrays is JSON, the rest YAML."""
    is_json = suffix in _JSON or (suffix not in _YAML and raw.lstrip()[:1] in {b"{", b"["})
    try:
        return parse_strict(raw if is_json else json_text(parse_yaml(raw.decode())).encode())
    except UnicodeDecodeError:
        raise UserError(f"{name} is not UTF-8 text", "save it as UTF-8") from None
    except NotYaml as error:
        raise UserError(f"{name} is not YAML that is taken here: {error}", error.fix) from None
    except InvalidRequest as error:
        raise BadFile([_told(name, problem) for problem in error.errors]) from None


def _told(name: str, problem: Problem) -> str:
    return f"{name}{f' {problem.path}' if problem.path else ''}: {problem.message.replace('the body', 'it')}"
