"""The base of every model: immutable, closed to unknown fields, and free of NaN and infinity."""

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints


class Frozen(BaseModel):
    """An immutable model that refuses fields it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        ser_json_inf_nan="constants",  # kept, so that canonical JSON refuses them; "null" would hide them
        validate_default=False,
    )


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
Instant = AwareDatetime
"""A moment with its time zone; written as RFC 3339 in UTC."""
