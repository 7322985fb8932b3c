"""Secrets are hidden by their name or by their look, wherever they stand."""

from typing import Any

import pytest

from aex_runtime.redaction import REDACTED, describe, redact

JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhY21lIn0.c2lnbmF0dXJl"


def cleaned(**event: Any) -> dict[str, Any]:
    return dict(redact(None, "info", {"event": "x", **event}))


@pytest.mark.parametrize(
    "name",
    ["authorization", "Authorization", "token", "access_token", "password", "api_key", "cookie", "client_secret"],
)
def test_values_under_secret_names_are_hidden(name: str) -> None:
    assert cleaned(**{name: "CANARY"})[name] == REDACTED
    assert cleaned(headers={name: ["CANARY"]})["headers"] == {name: REDACTED}


@pytest.mark.parametrize("name", ["tokens_used", "token_count", "max_tokens", "author"])
def test_names_that_only_sound_alike_are_shown(name: str) -> None:
    assert cleaned(**{name: 5})[name] == 5


@pytest.mark.parametrize("text", [f"Bearer {JWT}", f"bearer {JWT}", JWT, f"GET /x?t={JWT}&y=1", "BEARER abc.def"])
def test_tokens_inside_texts_are_hidden(text: str) -> None:
    for shown in (
        cleaned(detail=text)["detail"],
        cleaned(all=[{"deep": text}])["all"][0]["deep"],
        cleaned(event=text)["event"],
    ):
        assert REDACTED in shown
        assert "eyJ" not in shown
        assert "abc.def" not in shown


def test_long_texts_are_cut() -> None:
    assert len(cleaned(detail="x" * 10_000)["detail"]) == 2_001


def test_numbers_and_nothing_pass() -> None:
    assert cleaned(a=1, b=2.5, c=None, d=True) == {"event": "x", "a": 1, "b": 2.5, "c": None, "d": True}


def test_numbers_that_json_has_not_are_words() -> None:
    cleaned = redact(None, "critical", {"drift": float("nan"), "figures": [float("-inf"), 0.5]})
    assert cleaned == {"drift": "nan", "figures": ["-inf", 0.5]}


def test_a_chain_of_exceptions_is_told_once_each() -> None:
    first, second = ValueError("CANARY"), KeyError("CANARY")
    first.__cause__, second.__cause__ = second, first
    told = describe(first)
    assert [each["type"] for each in told] == ["builtins.ValueError", "builtins.KeyError"]
    assert "CANARY" not in str(told)


def _fails_without_context() -> None:
    try:
        int("inner")
    except ValueError:
        raise KeyError("outer") from None


def test_a_suppressed_context_stays_out() -> None:
    with pytest.raises(KeyError) as caught:
        _fails_without_context()
    assert [each["type"] for each in describe(caught.value)] == ["builtins.KeyError"]


def test_the_members_of_a_group_are_told_each_with_its_cause() -> None:
    inner = KeyError("secret")
    inner.__cause__ = OSError("secret too")
    told = describe(ExceptionGroup("several", [inner, ValueError("third secret")]))
    assert [each["type"] for each in told] == [
        "builtins.ExceptionGroup",
        "builtins.KeyError",
        "builtins.ValueError",
        "builtins.OSError",
    ]
    assert "secret" not in str(told)
