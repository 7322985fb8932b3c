"""Routes of the metric catalogue and of scientific domains."""

import asyncio
from functools import partial
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
"""Limits of an inference; the worst text of this length, which expands under NFKC, takes 0.5 s."""
_MAX_INLINE_CHARACTERS = 2_000
"""Characters up to which a text is analysed on the event loop, in up to 2 ms; longer ones in a thread."""


def catalog_routes(deps: Deps) -> APIRouter:
    """Return a router with the route `/metrics/catalog`."""
    router = service_router("/v1", tags=["catalog"])

    @router.get("/metrics/catalog", summary="Every metric that a criterion may name")
    async def catalog(reader: Anyone) -> dict[str, Any]:
        return {"items": [project(entry, reader.role) for entry in deps.catalog.entries]}

    return router


class InferenceRequest(Frozen):
    """Text and column names from which a scientific domain is inferred."""

    text: str = ""
    """Description or question, for example."""
    columns: Annotated[tuple[str, ...], Field(max_length=MAX_COLUMNS)] = ()
    """Names of the data's columns; an index often has an empty name."""

    @model_validator(mode="after")
    def _check_size(self) -> "InferenceRequest":
        if self.character_count > MAX_CHARACTERS:
            raise PydanticCustomError("too_long", "More than {most} characters in all", {"most": MAX_CHARACTERS})
        return self

    @property
    def character_count(self) -> int:
        """Return the total length of text and column names."""
        return len(self.text) + sum(map(len, self.columns))


class DomainPage(BaseModel):
    """Page with all domains, sorted by name."""

    items: list[Domain]
    next_cursor: None


def domain_routes(deps: Deps) -> APIRouter:
    """Return a router with the routes below `/domains`."""
    router = service_router("/v1", tags=["domains"])
    catalog = deps.catalog  # reads its domains at their first use

    @router.get("/domains", summary="Every scientific domain", responses={200: {"model": DomainPage}})
    async def list_domains(reader: Anyone) -> dict[str, Any]:
        """List all domains in one page."""
        return {"items": [project(each, reader.role) for each in catalog.domains.domains], "next_cursor": None}

    @router.get("/domains/{name:path}", summary="One domain", responses={200: {"model": Domain}})
    async def get_domain(name: str, reader: Anyone) -> dict[str, Any]:
        """Return a domain by name or alias, which may hold slashes, percent-encoded or not."""
        domain = catalog.domains.get(name)
        if domain is None:
            raise NotFound("domain_not_found", "there is no such domain; GET /v1/domains lists them")
        return project(domain, reader.role)

    @router.post("/domains/infer", summary="Guess a domain", responses={200: {"model": DomainGuess}})
    async def post_infer(body: InferenceRequest, reader: Anyone, _: Idempotent) -> dict[str, Any]:
        """Return the domain that most words match, and the number for each; null on a tie or without a match.

        An `Idempotency-Key` is accepted without effect.
        """
        infer = partial(infer_domain, body.text, body.columns, catalog.domains)
        guess = infer() if body.character_count <= _MAX_INLINE_CHARACTERS else await asyncio.to_thread(infer)
        return project(guess, reader.role)

    return router
