"""A reason is something that somebody can read."""

import pytest

from aex_governance.rules.reason import MAX_REASON, tidy_reason
from aex_runtime.errors import InvalidRequest


@pytest.mark.parametrize("reason", ["copied", "?", "引用です", "  5 ", "👍"])
def test_whatever_can_be_read_is_a_reason(reason: str) -> None:
    assert tidy_reason(reason) == reason.strip()


@pytest.mark.parametrize("reason", ["", "   ", "\n\t", "\u200b\u2060", "\u00a0\u3000", "\u202e \u00ad"])
def test_what_cannot_be_read_is_none(reason: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        tidy_reason(reason)
    assert (refused.value.code, refused.value.errors[0].path) == ("blank_reason", "/reason")


def test_a_reason_has_a_length() -> None:
    assert tidy_reason("x" * MAX_REASON) == "x" * MAX_REASON
    with pytest.raises(InvalidRequest, match="reason_too_long"):
        tidy_reason("x" * (MAX_REASON + 1))
