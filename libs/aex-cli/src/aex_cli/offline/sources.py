"""Which part of a body comes from which file, so that each problem is told with the file and the place in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from aex_cli.offline.documents import Document
from aex_models.work import Problem, Work, WorkSubmission
from aex_runtime.commandline.errors import UserError

CRITERIA = "success_criteria"
_ADDED = frozenset({*Work.model_fields, "warnings", "quote"}) - frozenset(WorkSubmission.model_fields)
"""What a service adds to a work that it answers with: a work that was read back is taken as it is."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a part of the body lies: a file and a pointer into it; no document where no file was given for it."""

    option: str
    document: Document | None
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts of a body by their key; everything else is the work's."""

    parts: Mapping[str, Source]
    work: Source

    def told(self, path: str, message: str) -> str:
        """A message about a place in the body, with the file and the place in it; without a file, how to name it."""
        key, _, rest = path.removeprefix("/").partition("/")
        source = self.parts.get(key, self.work)
        if source.document is None:
            return f"{message}; name the file with {source.option}" if source is self.work else message
        place = path if source is self.work else source.pointer + (f"/{rest}" if rest else "")
        return f"{source.document.name}{f' {place}' if place else ''}: {message}"


def criteria_in(document: Document) -> tuple[Any, Source]:
    """The success criteria of a file: the file itself, or what it holds under `success_criteria`.

    Raises `UserError` where the file is nothing of the kind.
    """
    value, option = document.value, "--criteria"
    if isinstance(value, Mapping) and CRITERIA in value:
        return value[CRITERIA], Source(option, document, f"/{CRITERIA}")
    if isinstance(value, Mapping) and "metric" not in value:
        return value, Source(option, document)
    found = "one criterion" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "no mapping"
    fix = "put the criteria as a list below the name `criteria`"
    raise UserError(f"{document.name} holds {found}, not success criteria", fix)


def work_in(document: Document | None, option: str = "--work") -> dict[str, Any]:
    """The fields of a work's file, without what services add. Raises `UserError` where it holds no mapping."""
    if document is None:
        return {}
    if not isinstance(document.value, Mapping):
        fix = f"give {option} a work: a mapping with input, evaluation, budget and the like"
        raise UserError(f"{document.name} holds no work", fix)
    return {name: value for name, value in document.value.items() if name not in _ADDED}


def unknown_fields(work: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem for each field that no work has: a mistyped one would be passed over in silence."""
    for name in work:
        if name not in WorkSubmission.model_fields:
            close = get_close_matches(name, WorkSubmission.model_fields, n=1)
            hint = f"did you mean {close[0]}?" if close else f"a work has {', '.join(WorkSubmission.model_fields)}"
            yield Problem(path=f"/{name}", code="extra_forbidden", message=f"a work has no field {name}; {hint}")
