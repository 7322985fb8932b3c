"""The strings below the fields of a model are its schema's descriptions, as they were when pydantic read them."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, create_model
from pydantic._internal._docs_extraction import extract_docstrings_from_cls

import aex_models
from aex_models.frozen import Frozen


class Parent(Frozen):
    """A model."""

    kept: int
    """Told by the parent."""
    replaced: int
    """Told by the parent, and not by the child."""


class Child(Parent):
    """With fields of its own."""

    replaced: int
    other: Annotated[str, Field(alias="else")] = ""
    """Under another name.

    And in two paragraphs.
    """
    said: Annotated[int, Field(description="By the field itself.")] = 0
    """Not told."""
    nested: Parent | None = None
    """A model in a model."""
    untold: int = 0


def descriptions(kind: type[BaseModel]) -> dict[str, str | None]:
    return {name: each.get("description") for name, each in kind.model_json_schema()["properties"].items()}


def test_a_schema_tells_what_stands_below_each_field() -> None:
    assert descriptions(Parent) == {
        "kept": "Told by the parent.",
        "replaced": "Told by the parent, and not by the child.",
    }
    assert descriptions(Child) == {
        "kept": "Told by the parent.",
        "replaced": None,
        "else": "Under another name.\n\nAnd in two paragraphs.",
        "said": "By the field itself.",
        "nested": "A model in a model.",
        "untold": None,
    }


def test_a_model_without_a_source_has_a_schema() -> None:
    assert descriptions(create_model("Made", __base__=Parent, more=(int, 0))) == {
        "kept": "Told by the parent.",
        "replaced": "Told by the parent, and not by the child.",
        "more": None,
    }


def models(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from models(each)


for _found in pkgutil.iter_modules(aex_models.__path__):
    importlib.import_module(f"aex_models.{_found.name}")
COMMON = sorted(
    {each for each in models(Frozen) if each.__module__.startswith("aex_models.")}, key=lambda e: e.__name__
)


@pytest.mark.parametrize("kind", COMMON, ids=lambda kind: kind.__name__)
def test_it_is_what_pydantic_reads(kind: type[BaseModel]) -> None:
    by_pydantic = {
        name: text
        for base in reversed(kind.__mro__)
        if issubclass(base, Frozen) and base is not Frozen
        for name, text in _read_by_pydantic(base).items()
    }
    told = {name: text for name, text in descriptions(kind).items() if text is not None and name in by_pydantic}
    assert told == by_pydantic


def _read_by_pydantic(kind: type[BaseModel]) -> dict[str, str]:
    return extract_docstrings_from_cls(kind, use_inspect=True)
