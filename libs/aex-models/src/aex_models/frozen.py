"""The base of every model: immutable, closed to unknown fields, without NaN and infinity.

The docstring below a field becomes its description in the JSON Schema. The source is read only when a schema is built.
The option of pydantic for this reads it at import, which took a fifth of a service's start.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError


@cache
def read_attribute_docstrings(kind: type[Any]) -> Mapping[str, str]:
    """Return the docstrings below the fields of a class, by field name. Inherited fields are included.

    The mapping is empty if the source code is not available.
    """
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        own = inspect.get_annotations(each)
        found = {name: text for name, text in found.items() if name not in own} | (_own_docs(each) if own else {})
    return found


def add_descriptions_to_schema(schema: JsonSchemaValue, kind: type[BaseModel]) -> JsonSchemaValue:
    """Add descriptions from the fields' docstrings to a model's schema, in place, and return it.

    Properties that have a description keep it.
    """
    properties = schema.get("properties", {})
    for name, text in read_attribute_docstrings(kind).items():
        field = kind.model_fields.get(name)
        visible_name = field.alias if field and field.alias in properties else name
        if visible_name in properties:
            properties[visible_name].setdefault("description", text)
    return schema


def _own_docs(kind: type[Any]) -> dict[str, str]:
    if kind.__module__.startswith("pydantic."):  # it has docstrings below class attributes that are no fields
        return {}
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    definition = ast.parse(textwrap.dedent(source)).body[0]
    return dict(_field_docs(definition)) if isinstance(definition, ast.ClassDef) else {}


def _field_docs(definition: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, inspect.cleandoc(text.value.value))
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    ]


class Frozen(BaseModel):
    """An immutable model that refuses fields it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="constants",  # kept, so that canonical JSON refuses them; "null" would hide them
        validate_default=False,
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema with the docstrings below the fields as descriptions."""
        schema = handler(core_schema)
        add_descriptions_to_schema(handler.resolve_ref_schema(schema), cls)
        return schema


StrictBool = Annotated[bool, Field(strict=True)]
"""A boolean that refuses 0, 1, "yes" and "true"."""

StrictInt = Annotated[int, Field(strict=True)]
"""An integer that refuses "5", 5.0 and true."""

StrictFloat = Annotated[float, Field(strict=True)]
"""A number that refuses "5" and true."""

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._:@/+-]+$")]
"""The name of a principal or organisation, or the id of a record: printable ASCII without spaces."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""The lower-case hexadecimal SHA-256 of some bytes."""

_WORD = r"[A-Za-z0-9!#$&^_.+-]+"
MediaType = Annotated[
    str,
    StringConstraints(
        min_length=3,
        max_length=200,
        pattern=rf'^{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[^"\\\x00-\x1f]*"))*[ \t]*;?[ \t]*$',
    ),
]
"""A media type in any case, with any parameters, such as `text/csv; charset=utf-8`."""

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=300)]
LongText = Annotated[str, StringConstraints(max_length=20_000)]


def _to_utc(moment: datetime) -> datetime:
    """Return the moment in UTC, in which all moments are written, ordered and stored."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # by its offset before the year 1, or after the year 9999
        raise PydanticCustomError("moment_out_of_range", "Expected a moment of the years 1 to 9999 in UTC") from None


def _refuse_number(moment: Any) -> Any:
    """Return the moment. Raises for a number or its text, which pydantic would read as Unix time."""
    if isinstance(moment, datetime) or (isinstance(moment, str) and moment[4:5] == "-"):
        return moment
    raise PydanticCustomError("invalid_moment", "Expected a moment such as 2025-01-31T12:00:00Z")


Instant = Annotated[AwareDatetime, AfterValidator(_to_utc), BeforeValidator(_refuse_number)]
"""A moment. It is converted to UTC, and written as RFC 3339."""
