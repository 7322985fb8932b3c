"""What governance is told: values that were extracted, as numbers or as nothing."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from aex_models.governance import Extracted

EXTRACTED: TypeAdapter[Any] = TypeAdapter(Extracted)


@pytest.mark.parametrize("value", ["NaN", "nan", "Infinity", "-inf", "+INF", float("nan"), float("-inf"), None])
def test_what_is_no_finite_number_is_nothing_however_it_is_written(value: Any) -> None:
    assert EXTRACTED.validate_python(value) is None


@pytest.mark.parametrize("value", [0, 0.5, -3, True, False])
def test_a_number_or_a_boolean_stays_what_it_is(value: Any) -> None:
    kept = EXTRACTED.validate_python(value)
    assert (kept, type(kept)) == (value, type(value))


@pytest.mark.parametrize("value", ["0.5", "infinite", "", [1.0], {}])
def test_a_text_is_no_value(value: Any) -> None:
    with pytest.raises(ValidationError):
        EXTRACTED.validate_python(value)
