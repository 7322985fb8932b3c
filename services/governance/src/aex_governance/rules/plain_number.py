"""Numbers as strangers write them in fields that take anything."""

import math
import re
from typing import Any

from aex_models.numbers import is_number

_PLAIN = re.compile(r"\s*[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?\s*", re.ASCII)


def plain_number(value: Any) -> float | None:
    """The finite number that this is, or that it spells in plain digits; None for anything else."""
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        value = float(value)
        return value if math.isfinite(value) else None
    return float(value) if is_number(value) else None
