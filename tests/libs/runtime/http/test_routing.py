from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, Query, Request

from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import QueryNames, service_router
from tests.libs.runtime.http.sample import sample


def _routes(into: APIRouter) -> None:
    router = service_router(prefix="/v1/strict")

    @router.get("/many")
    async def many(
        _: Annotated[Principal, Depends(Allow(*ANYONE))],
        _paging: Annotated[PageRequest, Depends(page_request)],
        colours: Annotated[list[str] | None, Query()] = None,
        first_day: Annotated[str | None, Query(alias="from")] = None,
    ) -> dict[str, Any]:
        return {"colours": colours, "from": first_day}

    @router.get("/read", dependencies=[Depends(QueryNames("colour"))])
    async def read(request: Request, _: Annotated[Principal, Depends(Allow(*ANYONE))]) -> dict[str, Any]:
        return dict(request.query_params)

    @router.post("/none")
    async def post_none(body: dict[str, str], _: Annotated[Principal, Depends(Allow(*ANYONE))]) -> dict[str, Any]:
        return body

    @router.get("/none")
    async def none(_: Annotated[Principal, Depends(Allow(*ANYONE))]) -> dict[str, Any]:
        return {}

    into.routes += router.routes


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with sample(tmp_path / "data", extra=_routes).client() as opened:
        yield opened


async def problems(client: httpx.AsyncClient, path: str) -> list[tuple[str, str]]:
    answer = await client.get(path)
    assert answer.status_code == 422, answer.text
    found = answer.json()
    assert found["code"] == found["errors"][0]["code"]
    return [(each["path"], each["code"]) for each in found["errors"]]


async def test_known_parameters_are_accepted(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/strict/many?from=x&colours=a&colours=b&limit=3")
    assert (answer.status_code, answer.json()) == (200, {"colours": ["a", "b"], "from": "x"})


async def test_an_unknown_parameter_is_refused_and_the_known_ones_are_named(client: httpx.AsyncClient) -> None:
    assert await problems(client, "/v1/strict/many?first_day=x&to=") == [
        ("query/first_day", "unknown_parameter"),
        ("query/to", "unknown_parameter"),
    ]
    detail = (await client.get("/v1/strict/many?first_day=x")).json()["detail"]
    assert detail == "there is no query parameter first_day: those of this route are colours, cursor, from, limit"
    assert "takes none" in (await client.get("/v1/strict/none?x=1")).json()["detail"]


async def test_repeated_parameter_is_refused(client: httpx.AsyncClient) -> None:
    assert await problems(client, "/v1/strict/many?from=a&from=b") == [("query/from", "repeated_parameter")]
    assert await problems(client, "/v1/strict/many?limit=1&limit=1&x=") == [
        ("query/limit", "repeated_parameter"),
        ("query/x", "unknown_parameter"),
    ]


async def test_long_names_and_many_problems_are_cut(client: httpx.AsyncClient) -> None:
    (found,) = await problems(client, f"/v1/strict/none?{'x' * 5_000}=1")
    assert len(found[0]) < 100
    assert len(await problems(client, "/v1/strict/none?" + "&".join(f"p{n}=1" for n in range(500)))) == 100


async def test_caller_is_authenticated_before_the_query(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/strict/none?x=1", headers={"Authorization": ""})).status_code == 401


async def test_parameters_that_a_route_reads_by_itself_are_known(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/strict/read?colour=red")).json() == {"colour": "red"}
    assert await problems(client, "/v1/strict/read?colour=a&colour=b&shape=x") == [
        ("query/colour", "repeated_parameter"),
        ("query/shape", "unknown_parameter"),
    ]


async def test_query_is_checked_before_the_body(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/strict/none?x=1", content=b"{")
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_parameter")


async def test_misspelt_parameter_gets_a_suggestion(client: httpx.AsyncClient) -> None:
    detail = (await client.get("/v1/strict/many?Limits=3")).json()["detail"]
    assert detail.endswith("are colours, cursor, from, limit; did you mean limit?")
