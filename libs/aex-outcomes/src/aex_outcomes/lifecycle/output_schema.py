"""A type's validation schema, made fit for hostile outputs: no number that is none, and few errors."""

from typing import Any

_COLLECTIONS = frozenset(
    {"list", "deque", "tuple", "set", "frozenset", "dict", "frozendict", "ordered-dict", "counter"}
)  # fmt: skip
"""The kinds of schema whose items are as many as the output says."""
_NO_SCHEMAS = frozenset(
    {
        "cls", "config", "computed_fields", "custom_error_context", "default", "default_factory", "discriminator",
        "expected", "function", "generic_origin", "members", "metadata", "missing", "serialization",
    }
)  # fmt: skip
"""What in a schema is not made of schemas: values and functions of the type's author."""
_BY_NAME = frozenset({"choices", "fields"})
"""Schemas under names that the type's author has chosen."""


def finite(schema: Any) -> Any:
    """The schema, with every number in it finite, whatever a model's own configuration says.

    JSON has no other numbers, but the texts "nan" and "inf" are read as such, and NaN passes every comparison.
    """
    return _changed(schema, {"float": {"allow_inf_nan": False}, "decimal": {"allow_inf_nan": False}})


def hasty(schema: Any) -> Any:
    """The schema, with every collection in it given up at its first item that is not valid.

    It takes exactly the same values; the errors are as many as one item has, and not as many as there are items.
    """
    return _changed(schema, {kind: {"fail_fast": True} for kind in _COLLECTIONS})


def _changed(schema: Any, changes: dict[str, dict[str, Any]]) -> Any:
    if isinstance(schema, list):
        return [_changed(each, changes) for each in schema]
    if isinstance(schema, tuple):  # a member of a union, and its label
        return tuple(_changed(each, changes) for each in schema)
    if not isinstance(schema, dict):
        return schema
    copied = {key: each if key in _NO_SCHEMAS else _inner(key, each, changes) for key, each in schema.items()}
    return copied | changes.get(schema.get("type", ""), {})


def _inner(key: str, schema: Any, changes: dict[str, dict[str, Any]]) -> Any:
    if key in _BY_NAME and isinstance(schema, dict):
        return {name: _changed(each, changes) for name, each in schema.items()}
    return _changed(schema, changes)
