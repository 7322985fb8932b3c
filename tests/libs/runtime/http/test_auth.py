from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute, iter_route_contexts

from aex_models.audiences import Audience
from aex_runtime.http.app import UnguardedRoute
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.routing import Public, find_dependency, service_router
from tests.libs.runtime.http.sample import Sample, sample

OPEN = {"/healthz", "/readyz", "/metrics", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/openapi.json"}


async def test_only_public_routes_answer_without_a_token(shared: Sample) -> None:
    async with shared.client(role=None) as client:
        for context in iter_route_contexts(shared.app.routes):
            path = (context.path or "").replace("{note_id}", "x").replace("{contract_id}", "x")
            for method in context.methods or ():
                status = (await client.request(method, path)).status_code
                is_open = path in OPEN or path.startswith("/docs/")
                assert status == (200 if is_open else 401), (method, path)


@pytest.mark.parametrize("role", list(Audience))
async def test_each_role_reaches_only_its_routes(shared: Sample, role: Audience) -> None:
    async with shared.client(role) as client:
        for context in iter_route_contexts(shared.app.routes):
            route = context.original_route
            if not isinstance(route, APIRoute) or (allow := find_dependency(route, Allow)) is None:
                continue
            path = (context.path or "").replace("{note_id}", "x").replace("{contract_id}", "x")
            for method in context.methods or ():
                answer = await client.request(method, path)
                forbidden = answer.status_code == 403
                assert forbidden == (role not in allow.roles), (method, path, role)
                if forbidden:
                    assert answer.json()["code"] == "forbidden_role"


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
        assert (await agent.get("/v1/books")).status_code == 403


def test_guard_without_known_roles_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one role"):
        Allow()
    with pytest.raises(ValueError, match="king"):
        Allow("king")
