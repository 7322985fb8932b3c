"""The base of every model: immutable, closed to unknown fields, and free of NaN and infinity."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from aex_models.attribute_docs import described


class Frozen(BaseModel):
    """An immutable model that refuses fields it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="constants",  # kept, so that canonical JSON refuses them; "null" would hide them
        validate_default=False,
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """With the strings below the fields as descriptions."""
        schema = handler(core_schema)
        described(handler.resolve_ref_schema(schema), cls)
        return schema


StrictBool = Annotated[bool, Field(strict=True)]
"""A boolean that takes no 0, 1, "yes" or "true" for one."""

StrictInt = Annotated[int, Field(strict=True)]
"""An integer that takes no "5", 5.0 or true for one."""

StrictFloat = Annotated[float, Field(strict=True)]
"""A number that takes no "5" and no true for one."""

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._:@/+-]+$")]
"""A principal, an organisation or a record: plain printable characters, no spaces."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""The lower-case hexadecimal SHA-256 of some bytes."""

_WORD = r"[A-Za-z0-9!#$&^_.+-]+"
MediaType = Annotated[
    str,
    StringConstraints(
        min_length=3,
        max_length=200,
        pattern=rf'^{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[^"\\\x00-\x1f]*"))*[ \t]*;?[ \t]*$',
    ),
]
"""A media type in any case, with whatever parameters: `text/csv; charset=utf-8`."""

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=300)]
LongText = Annotated[str, StringConstraints(max_length=20_000)]


def _in_utc(moment: datetime) -> datetime:
    """The same moment in UTC, where all moments are written, ordered and stored."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # by its offset before the year 1, or after the year 9999
        raise PydanticCustomError("moment_out_of_range", "Expected a moment of the years 1 to 9999 in UTC") from None


def _no_number(moment: Any) -> Any:
    """A number, as such or as text, would be taken for seconds since 1970."""
    if isinstance(moment, datetime) or (isinstance(moment, str) and moment[4:5] == "-"):
        return moment
    raise PydanticCustomError("invalid_moment", "Expected a moment such as 2025-01-31T12:00:00Z")


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc), BeforeValidator(_no_number)]
"""A moment, in UTC whatever its offset was; written as RFC 3339."""
