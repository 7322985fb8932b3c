"""What scientific domains say of their values, and which of them a text speaks of."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from aex_models.audiences import project
from aex_models.domains import Domain, DomainGuess
from aex_models.frozen import Frozen
from aex_outcomes.science.domains.infer import infer_domain
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps

Anyone = Annotated[Principal, Depends(Allow(*ANYONE))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]

MAX_CHARACTERS, MAX_COLUMNS = 50_000, 2_000
"""Of an inference: the most hostile text of this length, one that unfolds under NFKC, takes half a second."""
_OFF_LOOP = 2_000
"""Characters, which take up to two milliseconds; more are read in a thread."""


class InferenceRequest(Frozen):
    """What to guess a domain from."""

    text: str = ""
    """A description, a question."""
    columns: Annotated[tuple[str, ...], Field(max_length=MAX_COLUMNS)] = ()
    """The names of the data's columns; an index often has an empty one."""

    @model_validator(mode="after")
    def _bounded(self) -> "InferenceRequest":
        if self.characters > MAX_CHARACTERS:
            raise PydanticCustomError("too_long", "More than {most} characters in all", {"most": MAX_CHARACTERS})
        return self

    @property
    def characters(self) -> int:
        """Of the text and all columns."""
        return len(self.text) + sum(map(len, self.columns))


class DomainPage(BaseModel):
    """Every domain, by name."""

    items: list[Domain]
    next_cursor: None


def domain_routes(deps: Deps) -> APIRouter:
    """`/domains`."""
    router = service_router("/v1", tags=["domains"])
    catalog = deps.catalog  # which reads its domains when they are first asked for

    @router.get("/domains", summary="Every scientific domain", responses={200: {"model": DomainPage}})
    async def list_domains(reader: Anyone) -> dict[str, Any]:
        """All in one page."""
        return {"items": [project(each, reader.role) for each in catalog.domains.domains], "next_cursor": None}

    @router.get("/domains/{name:path}", summary="One domain", responses={200: {"model": Domain}})
    async def get_domain(name: str, reader: Anyone) -> dict[str, Any]:
        """By name or alias, which may hold slashes: as they are, or percent-encoded."""
        found = catalog.domains.get(name)
        if found is None:
            raise NotFound("domain_not_found", "there is no such domain; GET /v1/domains lists them")
        return project(found, reader.role)

    @router.post("/domains/infer", summary="Guess a domain", responses={200: {"model": DomainGuess}})
    async def post_infer(body: InferenceRequest, reader: Anyone, _: Idempotent) -> dict[str, Any]:
        """The domain that most words speak for, and how many do for each; null on a tie, or where none do.

        An `Idempotency-Key` is taken and changes nothing: there is no effect that a repeat could double.
        """
        if body.characters <= _OFF_LOOP:
            guess = infer_domain(body.text, body.columns, catalog.domains)
        else:
            guess = await asyncio.to_thread(infer_domain, body.text, body.columns, catalog.domains)
        return project(guess, reader.role)

    return router
