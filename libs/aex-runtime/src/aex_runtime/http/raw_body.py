"""Bodies that a handler checks as a whole, and documents as a model: all that is wrong comes in one answer."""

from dataclasses import dataclass

from fastapi import Request
from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class DescribedAs:
    """Marks a value that is taken as it comes and documented as a model: its handler checks it as a whole."""

    model: type[BaseModel]
    or_anything: bool = False
    """Whether the handler answers whatever is sent with what is wrong in it, and refuses nothing."""

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(self.model.__pydantic_core_schema__)
        anything = {"description": "Anything else is answered with what is wrong in it"}
        return {"anyOf": [described, anything]} if self.or_anything else described


async def body_size(request: Request) -> int:
    """How many bytes the body had; it has been read and parsed by then."""
    return len(await request.body())
