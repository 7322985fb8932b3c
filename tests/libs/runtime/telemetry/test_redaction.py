from typing import Any

import pytest

from aex_runtime.logs import REDACTED, exception_chain, redact_secrets_and_cut_texts

JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhY21lIn0.c2lnbmF0dXJl"


def cleaned(**event: Any) -> dict[str, Any]:
    return dict(redact_secrets_and_cut_texts(None, "info", {"event": "x", **event}))


@pytest.mark.parametrize(
    "name",
    ["authorization", "Authorization", "token", "access_token", "password", "api_key", "cookie", "client_secret"],
)
def test_values_under_secret_names_are_hidden(name: str) -> None:
    assert cleaned(**{name: "CANARY"})[name] == REDACTED
    assert cleaned(headers={name: ["CANARY"]})["headers"] == {name: REDACTED}


@pytest.mark.parametrize("name", ["tokens_used", "token_count", "max_tokens", "author"])
def test_similar_names_are_not_hidden(name: str) -> None:
    assert cleaned(**{name: 5})[name] == 5


@pytest.mark.parametrize("text", [f"Bearer {JWT}", f"bearer {JWT}", JWT, f"GET /x?t={JWT}&y=1", "BEARER abc.def"])
def test_tokens_inside_texts_are_hidden(text: str) -> None:
    for clean in (
        cleaned(detail=text)["detail"],
        cleaned(all=[{"deep": text}])["all"][0]["deep"],
        cleaned(event=text)["event"],
    ):
        assert REDACTED in clean
        assert "eyJ" not in clean
        assert "abc.def" not in clean


def test_long_texts_are_cut_and_other_values_kept() -> None:
    assert len(cleaned(detail="x" * 10_000)["detail"]) == 2_001
    assert cleaned(a=1, b=2.5, c=None, d=True) == {"event": "x", "a": 1, "b": 2.5, "c": None, "d": True}


def test_nan_and_infinity_become_text() -> None:
    cleaned = redact_secrets_and_cut_texts(None, "critical", {"drift": float("nan"), "figures": [float("-inf"), 0.5]})
    assert cleaned == {"drift": "nan", "figures": ["-inf", 0.5]}


def test_cyclic_exception_chain_lists_each_once() -> None:
    first, second = ValueError("CANARY"), KeyError("CANARY")
    first.__cause__, second.__cause__ = second, first
    chain = exception_chain(first)
    assert [each["type"] for each in chain] == ["builtins.ValueError", "builtins.KeyError"]
    assert "CANARY" not in str(chain)


def _fails_without_context() -> None:
    try:
        int("inner")
    except ValueError:
        raise KeyError("outer") from None


def test_suppressed_context_is_left_out() -> None:
    with pytest.raises(KeyError) as caught:
        _fails_without_context()
    assert [each["type"] for each in exception_chain(caught.value)] == ["builtins.KeyError"]


def test_group_members_are_listed_with_their_causes() -> None:
    inner = KeyError("secret")
    inner.__cause__ = OSError("secret too")
    chain = exception_chain(ExceptionGroup("several", [inner, ValueError("third secret")]))
    types = [each["type"].removeprefix("builtins.") for each in chain]
    assert types == ["ExceptionGroup", "KeyError", "ValueError", "OSError"]
    assert "secret" not in str(chain)
