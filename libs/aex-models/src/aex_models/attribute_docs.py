"""The strings below a model's fields, as its JSON Schema tells them: read from the source when a schema is asked for.

Pydantic's own way reads the source of every model when it is imported, which took a service a fifth of its start.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue


@cache
def attribute_docs(kind: type[Any]) -> Mapping[str, str]:
    """Of a class and those that it is made from, by field; nothing where there is no source."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        own = inspect.get_annotations(each)
        found = {name: text for name, text in found.items() if name not in own} | (_own_docs(each) if own else {})
    return found


def described(schema: JsonSchemaValue, kind: type[BaseModel]) -> JsonSchemaValue:
    """The schema of a model with a description for each property that has none."""
    properties = schema.get("properties", {})
    for name, text in attribute_docs(kind).items():
        field = kind.model_fields.get(name)
        shown = field.alias if field and field.alias in properties else name
        if shown in properties:
            properties[shown].setdefault("description", text)
    return schema


def _own_docs(kind: type[Any]) -> dict[str, str]:
    if kind.__module__.startswith("pydantic."):  # has strings below what is no field
        return {}
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    definition = ast.parse(textwrap.dedent(source)).body[0]
    return dict(_below(definition)) if isinstance(definition, ast.ClassDef) else {}


def _below(definition: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, inspect.cleandoc(text.value.value))
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    ]
