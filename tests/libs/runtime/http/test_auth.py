"""No route answers without a token unless it says why, and none answers the wrong role."""

from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute, iter_route_contexts

from aex_models.audiences import Audience
from aex_runtime.http.app import UnguardedRoute
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.routing import Public, allow_of, public_of, service_router
from tests.libs.runtime.http.sample import Sample, sample

OPEN = {"/healthz", "/readyz", "/metrics", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/openapi.json"}


async def test_what_is_open_is_open_and_nothing_else_is(made: Sample) -> None:
    async with made.client(role=None) as client:
        for context in iter_route_contexts(made.app.routes):
            path = (context.path or "").replace("{note_id}", "x").replace("{contract_id}", "x")
            for method in context.methods or ():
                status = (await client.request(method, path)).status_code
                is_open = path in OPEN or path.startswith("/docs/")
                assert status == (200 if is_open else 401), (method, path)


@pytest.mark.parametrize("role", list(Audience))
async def test_each_role_reaches_its_routes_and_is_kept_from_the_others(made: Sample, role: Audience) -> None:
    async with made.client(role) as client:
        for context in iter_route_contexts(made.app.routes):
            route = context.original_route
            if not isinstance(route, APIRoute) or (allow := allow_of(route)) is None:
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
async def test_a_bad_authorization_header_is_unauthorized(made: Sample, header: bytes) -> None:
    async with made.client(role=None) as client:
        answer = await client.get("/v1/notes", headers={b"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert answer.headers["content-type"] == "application/problem+json"


async def test_without_a_token_the_answer_asks_for_one(made: Sample) -> None:
    async with made.client(role=None) as client:
        answer = await client.get("/v1/notes")
    assert (answer.status_code, answer.json()["code"]) == (401, "missing_token")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_two_tokens_are_none(made: Sample) -> None:
    token = made.token()
    async with made.client(role=None) as client:
        headers = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
        assert (await client.get("/v1/notes", headers=headers)).status_code == 401


async def test_the_scheme_is_read_in_any_case(made: Sample) -> None:
    async with made.client(role=None) as client:
        answer = await client.get("/v1/notes", headers={"Authorization": f"bEARER {made.token()}"})
    assert answer.status_code == 200


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
def test_a_route_that_nobody_guards_stops_the_application_from_being_built(
    tmp_path: Any, extra: Any, path: str
) -> None:
    with pytest.raises(UnguardedRoute, match=path):
        sample(tmp_path / "data", extra=extra)


async def test_a_public_route_says_why(tmp_path: Any) -> None:
    def extra(router: APIRouter) -> None:
        @router.get("/sign-in", dependencies=[Depends(Public("here tokens are got"))])
        async def sign_in() -> dict[str, str]:
            return {"status": "come in"}

    made = sample(tmp_path / "data", extra=extra)
    async with made.client(role=None) as client:
        assert (await client.get("/v1/sign-in")).json() == {"status": "come in"}
    reasons = [
        mark.reason
        for context in iter_route_contexts(made.app.routes)
        if isinstance(context.original_route, APIRoute) and (mark := public_of(context.original_route))
    ]
    assert "here tokens are got" in reasons


async def test_a_guard_deep_among_the_dependencies_guards_all_the_same(tmp_path: Any) -> None:
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


def test_a_guard_without_roles_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one role"):
        Allow()
    with pytest.raises(ValueError, match="king"):
        Allow("king")
