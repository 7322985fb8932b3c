"""Moments: one form for one moment, and none that has no place in UTC."""

import pytest
from pydantic import TypeAdapter, ValidationError

from aex_models.frozen import Instant

INSTANT: TypeAdapter[object] = TypeAdapter(Instant)


@pytest.mark.parametrize("text", ["2026-05-01T14:00:00+02:00", "2026-05-01T12:00:00Z", "2026-04-30T23:00:00-13:00"])
def test_a_moment_is_written_in_utc_whatever_its_offset_was(text: str) -> None:
    assert INSTANT.dump_json(INSTANT.validate_python(text)) == b'"2026-05-01T12:00:00Z"'


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"])
def test_a_moment_that_is_none_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="years 1 to 9999"):
        INSTANT.validate_python(text)


def test_a_moment_without_an_offset_is_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        INSTANT.validate_python("2026-05-01T12:00:00")


@pytest.mark.parametrize("number", [0, 1_767_225_600, 1.5, "1767225600", "0", True])
def test_a_number_is_no_moment(number: object) -> None:
    with pytest.raises(ValidationError, match="Expected a moment such as"):
        INSTANT.validate_python(number)
