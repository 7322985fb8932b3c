"""Sums of micros in stored records. JSON holds integers exactly up to 2⁵³ only, and sums of amounts can be larger."""

from typing import Annotated

from pydantic import PlainSerializer

SumMicros = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]
"""Signed micros of any size; text in JSON, which pydantic reads without a call back into Python."""
