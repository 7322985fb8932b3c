"""The spans that a suite wrote into its file: read, put in order, and shown as a tree."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """A line of the file."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: str
    start: str
    end: str
    status: str
    service: str
    attributes: dict[str, Any]
    links: list[dict[str, str]]

    def __str__(self) -> str:
        return f"{self.name} @{self.service.removeprefix('aex-')}"

    def leads_to(self, other: "Span") -> bool:
        """Return whether a link of this span points to the other."""
        return {"trace_id": other.trace_id, "span_id": other.span_id} in self.links


def spans_in(file: Path, text: str = "") -> list[Span]:
    """Return the spans written so far whose lines contain the text, the earliest first."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    found = (Span(**json.loads(line)) for line in lines if text in line and line.endswith("\n"))
    return sorted(found, key=lambda span: span.start)


class Trace:
    """The spans of one trace."""

    def __init__(self, trace_id: str, spans: Iterable[Span]) -> None:
        self.spans = [span for span in spans if span.trace_id == trace_id]

    @cached_property
    def by_id(self) -> dict[str, Span]:
        """Each by its own id."""
        return {span.span_id: span for span in self.spans}

    @property
    def edges(self) -> set[tuple[str, str]]:
        """Return parent and child names as `name @service`; the parent of a root is empty."""
        return {(self._above(span), str(span)) for span in self.spans}

    def named(self, name: str) -> list[Span]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]

    def problems(self, caller: str | None = None) -> list[str]:
        """Return the defects of a trace: two roots, a missing parent, a child that begins before its parent.

        A step that its parent waits for ends before it. `caller` is the span id of the caller.
        """
        roots = [span for span in self.spans if span.parent_span_id is None]
        found = [f"{len(roots)} roots"] if len(roots) != (caller is None) else []
        for span in self.spans:
            parent = self.by_id.get(span.parent_span_id or "")
            if parent is None:
                found += [] if span.parent_span_id in {None, caller} else [f"{span}: its parent is missing"]
                continue
            found += [f"{span} begins before {parent}"] if span.start < parent.start else []
            waited_for = span.kind in {"client", "internal"} and parent.kind == "consumer" and _is_step(span)
            found += [f"{span} ends after {parent}"] if waited_for and span.end > parent.end else []
        return found

    def _above(self, span: Span) -> str:
        parent = self.by_id.get(span.parent_span_id or "")
        return "" if parent is None else str(parent)


def _is_step(span: Span) -> bool:
    """Return whether the span is part of its parent's work; later requests about a contract are not."""
    return span.name in {"verify candidate", "book settlement", "POST /v1/outcomes/validate"}
