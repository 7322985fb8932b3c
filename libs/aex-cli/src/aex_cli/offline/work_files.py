"""Criteria and works in files, and the origin of each part of a request, for messages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aex_cli.offline.documents import InputDocument
from aex_models.validation_messages import format_unknown_field_message
from aex_models.work import Problem, Work, WorkSubmission
from aex_runtime.commandline import UserError

CRITERIA = "success_criteria"
_ADDED = frozenset({*Work.model_fields, "warnings", "quote"}) - frozenset(WorkSubmission.model_fields)
"""Fields that services add to a work. They are ignored, so that a downloaded work is accepted unchanged."""


@dataclass(frozen=True, slots=True)
class FieldSource:
    """The origin of a part of a request: command line option, file, and JSON pointer within it.

    `document` is None if no file was given.
    """

    option: str
    document: InputDocument | None
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class FieldSources:
    """The origins of a request's parts by key. Parts without an entry come from `work`."""

    parts: Mapping[str, FieldSource]
    work: FieldSource

    def prefix_with_location(self, pointer: str, message: str) -> str:
        """Return the message preceded by the file that holds the part, and by the part's JSON pointer.

        `pointer`: the part's JSON pointer in the request. If the work has no file, its option is appended instead.
        """
        key, _, rest = pointer.removeprefix("/").partition("/")
        source = self.parts.get(key, self.work)
        if source.document is None:
            return f"{message}; name the file with {source.option}" if source is self.work else message
        in_file = pointer if source is self.work else source.pointer + (f"/{rest}" if rest else "")
        return f"{source.document.name}{f' {in_file}' if in_file else ''}: {message}"


def extract_criteria(document: InputDocument) -> tuple[Any, FieldSource]:
    """Return the success criteria of a document and their origin.

    They are its field `success_criteria`, or else the whole document. Raises `UserError` if it holds no criteria.
    """
    value, option = document.value, "--criteria"
    if isinstance(value, Mapping) and CRITERIA in value:
        return value[CRITERIA], FieldSource(option, document, f"/{CRITERIA}")
    if isinstance(value, Mapping) and "metric" not in value:
        return value, FieldSource(option, document)
    found = "one criterion" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "no mapping"
    fix = "put the criteria as a list below the name `criteria`"
    raise UserError(f"{document.name} holds {found}, not success criteria", fix)


def extract_work_fields(document: InputDocument | None) -> dict[str, Any]:
    """Return a work's fields, except the fields that services add; empty if `document` is None.

    Raises `UserError` if the document holds no mapping.
    """
    if document is None:
        return {}
    if not isinstance(document.value, Mapping):
        fix = "give --work a work: a mapping with input, evaluation, budget and the like"
        raise UserError(f"{document.name} holds no work", fix)
    return {name: value for name, value in document.value.items() if name not in _ADDED}


def find_unknown_fields(work: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each unknown field of a work. Otherwise a mistyped name would be ignored."""
    for name in work:
        if name not in WorkSubmission.model_fields:
            message = format_unknown_field_message((name,), WorkSubmission)
            yield Problem(path=f"/{name}", code="extra_forbidden", message=message)
