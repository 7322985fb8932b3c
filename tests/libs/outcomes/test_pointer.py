"""JSON pointers."""

from typing import Any

import pytest

from aex_outcomes.pointer import MISSING, is_pointer, join, resolve

DOCUMENT = {"a": [1, {"b/c": 2, "~": 3, "": 4}], "n": None, "0": 5}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [("", DOCUMENT), ("/a/0", 1), ("/a/1/b~1c", 2), ("/a/1/~0", 3), ("/a/1/", 4), ("/n", None), ("/0", 5)],
)
def test_a_pointer_leads_through_objects_and_lists(pointer: str, found: Any) -> None:
    assert resolve(DOCUMENT, pointer) == found


@pytest.mark.parametrize(
    "pointer", ["/x", "/a/2", "/a/-1", "/a/01", "/a/-", "/a/x", "/n/x", "/a/0/0", "/a/٠", "/a/" + "9" * 20]
)
def test_where_nothing_lies_there_is_no_null(pointer: str) -> None:
    assert resolve(DOCUMENT, pointer) is MISSING


def test_a_text_is_no_list_of_characters() -> None:
    assert resolve("abc", "/0") is MISSING


@pytest.mark.parametrize(("text", "valid"), [("", True), ("/", True), ("/a~0~1", True), ("a", False), ("/a~2", False)])
def test_what_is_a_pointer(text: str, valid: bool) -> None:
    assert is_pointer(text) is valid


def test_keys_are_escaped_when_joined() -> None:
    assert join("a/b", 0, "~") == "/a~1b/0/~0"
    assert repr(MISSING) == "MISSING"
