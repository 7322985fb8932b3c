"""Files that `aex verify` is given by name: raw data of candidate and consumer, and the candidate's reasoning."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from aex_cli.offline.documents import BadFile
from aex_models.contract import Artifact
from aex_outcomes.science.source import media_type_of
from aex_runtime.commandline.errors import UserError

MAX_BYTES = 100 * 1024 * 1024
"""Of a file: what an upload to a service may have."""
MAX_REASONING = 200_000


@dataclass(frozen=True, slots=True)
class RawData:
    """The files that were given, by name."""

    artifacts: Mapping[str, Path] = field(default_factory=dict)
    data: Mapping[str, Path] = field(default_factory=dict)


def named_files(option: str, given: Sequence[str]) -> dict[str, Path]:
    """Files by the names that specs and works call them: `NAME=FILE`, or a file alone under its own name.

    Raises `UserError` for a file that is not there or too large, and for a name that is given twice.
    """
    found: dict[str, Path] = {}
    for each in given:
        name, path = _split(each)
        if name in found:
            raise UserError(f"{option}: {name} is given twice", "give each file a name of its own: NAME=FILE")
        _check(option, path)
        found[name] = path
    return found


def _split(given: str) -> tuple[str, Path]:
    name, sign, path = given.partition("=")
    return (name, Path(path)) if sign and not Path(given).exists() else (Path(given).name, Path(given))


def _check(option: str, path: Path) -> None:
    if not path.is_file():
        raise UserError(f"there is no file {path}", f"check the path given to {option}")
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"{path} has more than {MAX_BYTES >> 20} MB", "no service would take it")


def artifacts_of(files: Iterable[tuple[str, Path]]) -> tuple[Artifact, ...]:
    """The files as a candidate would name them had they been uploaded. Raises `BadFile` for a bad name."""
    return tuple(_artifact(name, path) for name, path in files)


def _artifact(name: str, path: Path) -> Artifact:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        return Artifact(name=name, media_type=media_type_of(name), sha256=digest)
    except ValidationError as error:
        raise BadFile([f"--artifact {name}: {each['msg']}" for each in error.errors()]) from None


def reasoning_in(path: str | None) -> str | None:
    """The text of a file. Raises `UserError` where it is none."""
    if path is None:
        return None
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "check the path given to --reasoning") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text", "save it as UTF-8") from None
    if len(text) > MAX_REASONING:
        raise UserError(f"{path} has more than {MAX_REASONING:,} characters", "no service would take it")
    return text
