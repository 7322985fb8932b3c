"""The shapes that OpenAPI tells of."""

from pydantic import BaseModel

from aex_models.work import Work


class WorkPage(BaseModel):
    """A page of works; evaluation data and science are left out."""

    items: list[Work]
    next_cursor: str | None
