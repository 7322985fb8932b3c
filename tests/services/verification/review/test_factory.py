"""Whether there is a reviewer, and what stops a service that cannot have the one it was told of."""

import subprocess
import sys
from typing import Any

import pytest

from aex_runtime.ids import SeededIds
from aex_runtime.settings import BadConfiguration
from aex_verification.review.factory import build_reviewer
from aex_verification.settings import Settings

BLOCKED = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from aex_runtime.ids import SeededIds
from aex_verification.review.factory import build_reviewer
from aex_verification.settings import Settings
print(build_reviewer(Settings(review_model={model!r}, review_api_key="k"), SeededIds(1)))
print([name for name in ("pydantic_ai", "openai", "httpx2") if sys.modules.get(name)])
"""


def _run(model: str | None, *blocked: str) -> subprocess.CompletedProcess[str]:
    script = BLOCKED.format(blocked=blocked, model=model)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_without_a_model_there_is_no_reviewer_and_nothing_is_imported() -> None:
    ran = _run(None)
    assert ran.stdout.split("\n")[:2] == ["None", "[]"]


@pytest.mark.parametrize("missing", ["pydantic_ai", "openai", "httpx2"])
def test_a_missing_extra_stops_the_service_and_says_what_to_install(missing: str) -> None:
    ran = _run("a-model", missing)
    assert ran.returncode != 0
    assert "BadConfiguration" in ran.stderr
    assert "install aex-verification[review], or unset it" in ran.stderr


def test_openais_own_server_wants_a_key() -> None:
    with pytest.raises(BadConfiguration, match="AEX_REVIEW_API_KEY"):
        build_reviewer(Settings(review_model="a-model"), SeededIds(1))


async def test_a_server_of_ones_own_may_want_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody-elses")
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
def test_settings_that_make_no_sense_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Settings(**{name: value})


def test_the_key_does_not_show() -> None:
    assert "hush" not in repr(Settings(review_model="a-model", review_api_key="hush"))
