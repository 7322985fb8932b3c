import sys
from typing import Any

import pytest

from aex_runtime.ids import SeededIds
from aex_runtime.settings import BadConfiguration
from aex_verification.judges.factory import build_reviewer
from aex_verification.settings import Settings


@pytest.mark.parametrize("missing", ["pydantic_ai", "openai", "httpx2"])
def test_missing_extra_is_a_configuration_error(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "aex_verification.judges.chat", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BadConfiguration, match=r"install aex-verification\[review\], or unset it"):
        build_reviewer(Settings(review_model="a-model", review_api_key="k"), SeededIds(1))


def test_only_openais_own_server_needs_a_key() -> None:
    assert build_reviewer(Settings(), SeededIds(1)) is None
    with pytest.raises(BadConfiguration, match="AEX_REVIEW_API_KEY"):
        build_reviewer(Settings(review_model="a-model"), SeededIds(1))


async def test_own_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "other-key")
    reviewer = build_reviewer(Settings(review_model="a-model", review_base_url="http://127.0.0.1:9/v1"), SeededIds(1))
    assert reviewer is not None
    async with reviewer:
        pass


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("review_base_url", "ftp://x"),
        ("review_output", "xml"),
        ("review_timeout_s", 0),
        ("review_attempts", 0),
        ("review_concurrency", 0),
        ("review_max_input_chars", 10),
        ("review_max_output_tokens", 0),
    ],
)
def test_impossible_settings_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Settings(**{name: value})


def test_key_is_not_printed() -> None:
    assert "hush" not in repr(Settings(review_model="a-model", review_api_key="hush"))
