from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute, iter_route_contexts

from aex_runtime.http.app import UnguardedRoute
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.routing import Public, find_dependency, service_router
from tests.libs.runtime.http.sample import Sample, sample


@pytest.mark.parametrize(
    "header",
    [b"", b"Bearer", b"Bearer ", b"Basic YWJjOmRlZg==", b"Bearer not.a.token", b"Bearer x y", b"bearer \xc3\xbc"],
)
async def test_malformed_authorization_is_unauthorized(shared: Sample, header: bytes) -> None:
    async with shared.client(role=None) as client:
        answer = await client.get("/v1/notes", headers={b"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert answer.headers["content-type"] == "application/problem+json"


async def test_authorization_needs_one_bearer_token(shared: Sample) -> None:
    token = shared.token()
    async with shared.client(role=None) as client:
        missing = await client.get("/v1/notes")
        twice = await client.get("/v1/notes", headers=[("Authorization", f"Bearer {token}")] * 2)
        other_case = await client.get("/v1/notes", headers={"Authorization": f"bEARER {token}"})
    assert (missing.status_code, missing.json()["code"]) == (401, "missing_token")
    assert missing.headers["www-authenticate"] == "Bearer"
    assert (twice.status_code, other_case.status_code) == (401, 200)


def _plain(router: APIRouter) -> None:
    @router.get("/forgotten")
    async def forgotten() -> dict[str, str]:
        return {}


def _nested(router: APIRouter) -> None:
    inner = service_router()
    _plain(inner)
    router.include_router(inner, prefix="/deep")


def _foreign(router: APIRouter) -> None:
    inner = APIRouter()

    @inner.get("/foreign", dependencies=[Depends(Allow("agent"))])
    async def foreign() -> dict[str, str]:
        return {}

    router.include_router(inner)


@pytest.mark.parametrize(
    ("extra", "path"), [(_plain, "/forgotten"), (_nested, "/deep/forgotten"), (_foreign, "/foreign")]
)
def test_unguarded_route_fails_the_build(tmp_path: Any, extra: Any, path: str) -> None:
    with pytest.raises(UnguardedRoute, match=path):
        sample(tmp_path / "data", extra=extra)


async def test_public_route_names_its_reason(tmp_path: Any) -> None:
    def extra(router: APIRouter) -> None:
        @router.get("/sign-in", dependencies=[Depends(Public("sign-in"))])
        async def sign_in() -> dict[str, str]:
            return {"status": "ok"}

    made = sample(tmp_path / "data", extra=extra)
    async with made.client(role=None) as client:
        assert (await client.get("/v1/sign-in")).json() == {"status": "ok"}
    reasons = [
        mark.reason
        for context in iter_route_contexts(made.app.routes)
        if isinstance(context.original_route, APIRoute) and (mark := find_dependency(context.original_route, Public))
    ]
    assert "sign-in" in reasons


async def test_guard_of_a_nested_dependency_applies(tmp_path: Any) -> None:
    async def owner(principal: Annotated[Principal, Depends(Allow("finance"))]) -> str:
        return principal.id

    def extra(router: APIRouter) -> None:
        @router.get("/books")
        async def books(name: Annotated[str, Depends(owner)]) -> dict[str, str]:
            return {"owner": name}

    made = sample(tmp_path / "data", extra=extra)
    async with made.client("finance", "fin") as finance, made.client("agent") as agent:
        assert (await finance.get("/v1/books")).json() == {"owner": "fin"}
        refused = await agent.get("/v1/books")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden_role")


def test_guard_without_known_roles_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one role"):
        Allow()
    with pytest.raises(ValueError, match="king"):
        Allow("king")
