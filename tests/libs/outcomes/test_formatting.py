from typing import Any

import pytest

from aex_models.numbers import JsonFloat
from aex_outcomes.formatting import format_value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1e-50, "1e-50"),
        (1e-20, "1e-20"),
        (-2.3456789e-7, "-2.34568e-07"),
        (0.0005, "0.0005"),
        (0.123456789, "0.123457"),
        (-0.3423361976, "-0.342336"),
        (JsonFloat("0.50"), "0.5"),
        (812, "812"),
        (3.0, "3"),
        (0, "0"),
        (True, "true"),
        ("long " * 200, ("long " * 200)[:300] + "…"),
    ],
)
def test_a_value_is_reported_such_that_two_that_differ_do_not_read_equally(value: Any, words: str) -> None:
    assert format_value(value) == words
