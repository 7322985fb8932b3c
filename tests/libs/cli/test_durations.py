from datetime import timedelta

import pytest

from aex_cli.durations import parse_duration
from aex_runtime.commandline.errors import UserError


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        (" 12h ", timedelta(hours=12)),
        ("365d", timedelta(days=365)),
    ],
)
def test_spans_are_one_number_and_one_unit(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    "text", ["", "12", "h", "0h", "-1h", "1.5h", "366d", "999999d", "1h30m", "12 h", "１２h", "1w"]
)
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_duration(text)
    assert "12h" in refused.value.text()
