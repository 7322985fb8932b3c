"""Reading of data files: JSON lines with one row each."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aex_cli.offline.documents import BadFile
from aex_runtime.commandline import UserError
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import parse_strict_json

MAX_ROWS = 100_000
MAX_BYTES = 100_000_000
_MAX_LINE_BYTES = 10_000_000
_MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class DataRow:
    """A row: the number of its line, counted from 1, and its object."""

    number: int
    value: dict[str, Any]


def read_rows(option_name: str, path: Path) -> list[DataRow]:
    """Read a file of JSON lines, each an object; empty lines are skipped.

    `option_name`: the option or argument that names the file, for messages. Raises `UserError` with the line and the
    fix of each problem.
    """
    rows: list[DataRow] = []
    problems: list[str] = []
    for number, line in _read_lines(option_name, path):
        try:
            value = parse_strict_json(line)
        except InvalidRequest as error:
            problems += [f"{path} line {number}: {each.message.replace('the body', 'it')}" for each in error.errors]
        else:
            if isinstance(value, dict):
                rows.append(DataRow(number, value))
            else:
                problems.append(f"{path} line {number}: it holds no object; write one JSON object a line")
        if len(problems) >= _MAX_PROBLEMS:
            problems.append(f"{path}: further lines were not read")
            break
    if problems:
        raise BadFile(problems)
    if not rows:
        raise UserError(f"{path} has no rows", f"give {option_name} one JSON object a line")
    return rows


def _read_lines(option_name: str, path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path} has more than {MAX_BYTES // 1_000_000} MB", "import it in parts")
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if number > MAX_ROWS:
                    raise UserError(f"{path} has more than {MAX_ROWS} lines", "import it in parts")
                if len(line) > _MAX_LINE_BYTES:
                    raise UserError(f"{path} line {number} has more than 10 MB", "shorten it")
                text = line.removeprefix(b"\xef\xbb\xbf").strip()
                if text:
                    yield number, text
    except FileNotFoundError:
        raise UserError(f"there is no file {path}", f"check the path given to {option_name}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", f"check the path given to {option_name}") from None
