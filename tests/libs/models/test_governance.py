from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from aex_models.governance import Extracted

EXTRACTED: TypeAdapter[Any] = TypeAdapter(Extracted)


def test_extracted_value_is_a_number_or_a_boolean_or_none() -> None:
    for unknown in ("NaN", "nan", "Infinity", "-inf", "+INF", float("nan"), float("-inf"), None):
        assert EXTRACTED.validate_python(unknown) is None
    for value in (0, 0.5, -3, True, False):
        kept = EXTRACTED.validate_python(value)
        assert (kept, type(kept)) == (value, type(value))
    malformed: tuple[Any, ...] = ("0.5", "infinite", "", [1.0], {})
    for text in malformed:
        with pytest.raises(ValidationError):
            EXTRACTED.validate_python(text)
