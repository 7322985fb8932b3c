"""Translated graders, as checks and groups of checks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

TEXT = "/text"
"""Location of the text that an agent delivers for an imported work."""


class NotTranslatable(ValueError):
    """Error for a grader without an exact translation.

    `kind` is a stable code, such as `needs_model`; `why` is a sentence for the user.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why


@dataclass(frozen=True, slots=True)
class Check:
    """A translated grader: a criterion and the evaluation data that its metric reads.

    A check is met or not; other tools give it the score 1 or 0.
    """

    name: str
    """Proposed NAME of METRIC.NAME or `custom.NAME`."""
    metric: str
    """Metric without NAME; `custom` for own code."""
    metric_type: str
    comparison: str
    threshold: Any
    data: Mapping[str, Any] | None = None
    """Named evaluation data; None for a metric that needs none."""
    code: str = ""
    """Code of a custom metric."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """Checks that count together.

    With `minimum` None all of them must be met. Otherwise their weighted share must reach `minimum`.
    """

    items: "tuple[Check | CheckGroup, ...]" = field(default=())
    minimum: float | None = None
    weight: float = 1.0

    def checks(self) -> Iterator[Check]:
        """Yield the checks of this group and of all groups within it, in order."""
        for each in self.items:
            if isinstance(each, CheckGroup):
                yield from each.checks()
            else:
                yield each


Item: TypeAlias = Check | CheckGroup


def make_pattern_check(name: str, pattern: str, *, negated: bool = False) -> Check:
    """Return a check that the delivered text has a match of an RE2 pattern, or none if `negated`."""
    return Check(name, "matches_pattern", "boolean", "eq", not negated, {"pattern": pattern, "at": TEXT})


def make_schema_check(name: str, schema: Mapping[str, Any]) -> Check:
    """Return a check that the delivered text conforms to a JSON Schema."""
    return Check(name, "matches_schema", "boolean", "eq", True, {"output_schema": dict(schema), "at": TEXT})


def make_code_check(name: str, code: str) -> Check:
    """Return a check by a custom metric that returns true or false."""
    return Check(name, "custom", "boolean", "eq", True, code=code)
