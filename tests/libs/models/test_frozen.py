import importlib
import pkgutil
from collections.abc import Iterator
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model
from pydantic._internal._docs_extraction import extract_docstrings_from_cls

import aex_models
from aex_models.frozen import Frozen, Instant


class Parent(Frozen):
    """A model."""

    kept: int
    """Kept by the child."""
    replaced: int
    """Replaced by the child."""


class Child(Parent):
    """With fields of its own."""

    replaced: int
    other: Annotated[str, Field(alias="else")] = ""
    """Under another name.

    And in two paragraphs.
    """
    message: Annotated[int, Field(description="By the field itself.")] = 0
    """Hidden by the field's own."""
    nested: Parent | None = None
    """A model in a model."""
    unreported: int = 0


def descriptions(kind: type[BaseModel]) -> dict[str, str | None]:
    return {name: each.get("description") for name, each in kind.model_json_schema()["properties"].items()}


def test_schema_describes_fields_by_their_docstrings() -> None:
    assert descriptions(Parent) == {
        "kept": "Kept by the child.",
        "replaced": "Replaced by the child.",
    }
    assert descriptions(Child) == {
        "kept": "Kept by the child.",
        "replaced": None,
        "else": "Under another name.\n\nAnd in two paragraphs.",
        "message": "By the field itself.",
        "nested": "A model in a model.",
        "unreported": None,
    }


def test_model_without_source_code_has_a_schema() -> None:
    assert descriptions(create_model("Made", __base__=Parent, more=(int, 0))) == {
        "kept": "Kept by the child.",
        "replaced": "Replaced by the child.",
        "more": None,
    }


def models(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from models(each)


for _found in pkgutil.iter_modules(aex_models.__path__):
    importlib.import_module(f"aex_models.{_found.name}")
COMMON = {each for each in models(Frozen) if each.__module__.startswith("aex_models.")}


def test_descriptions_equal_those_of_pydantic() -> None:
    of = {base: extract_docstrings_from_cls(base, use_inspect=True) for base in COMMON}
    for kind in COMMON:
        by_pydantic = {name: text for base in reversed(kind.__mro__) for name, text in of.get(base, {}).items()}
        found = {name: text for name, text in descriptions(kind).items() if text is not None and name in by_pydantic}
        assert found == by_pydantic, kind.__name__


INSTANT: TypeAdapter[object] = TypeAdapter(Instant)


@pytest.mark.parametrize("text", ["2026-05-01T14:00:00+02:00", "2026-05-01T12:00:00Z", "2026-04-30T23:00:00-13:00"])
def test_instant_is_written_in_utc(text: str) -> None:
    assert INSTANT.dump_json(INSTANT.validate_python(text)) == b'"2026-05-01T12:00:00Z"'


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("0001-01-01T00:00:00+00:01", "years 1 to 9999"),
        ("9999-12-31T23:59:59-00:01", "years 1 to 9999"),
        ("2026-05-01T12:00:00", "timezone"),
        *((number, "Expected a moment such as") for number in (0, 1_767_225_600, 1.5, "1767225600", "0", True)),
    ],
)
def test_value_other_than_an_instant_of_utc_is_refused(value: object, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        INSTANT.validate_python(value)
