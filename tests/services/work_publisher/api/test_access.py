import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from aex_models.audiences import Audience
from aex_models.work import WorkSubmission
from aex_runtime.http.auth import Allow
from aex_runtime.http.routing import find_dependency
from aex_runtime.identity.principals import Principal
from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, BOT, FINANCE, OPERATOR, RIVAL, SERVICE

EVERYBODY = (ACME, BOT, FINANCE, OPERATOR, SERVICE)
AWARD = {"agent_id": "bot", "cpc_rate": "0.75"}
MAY: dict[tuple[str, str], set[Audience]] = {
    ("POST", "/v1/work"): {Audience.CONSUMER},
    ("POST", "/v1/work/validate"): {Audience.CONSUMER},
    ("GET", "/v1/work"): {Audience.CONSUMER, Audience.AGENT},
    ("GET", "/v1/work/{work_id}"): {Audience.CONSUMER, Audience.AGENT},
    ("POST", "/v1/work/{work_id}/award"): {Audience.CONSUMER},
    ("POST", "/v1/work/{work_id}/cancel"): {Audience.CONSUMER},
    ("POST", "/v1/work/{work_id}/claim"): {Audience.AGENT},
    ("GET", "/v1/awards/{contract_id}"): {Audience.SERVICE},
    ("PUT", "/v1/artifacts"): {Audience.CONSUMER},
    ("GET", "/v1/artifacts/{sha256}"): {Audience.CONSUMER},
}


def test_every_route_names_the_roles_of_the_specification(shared_api: Api) -> None:
    named = {}
    for context in iter_route_contexts(shared_api.app.routes):
        route = context.original_route
        if isinstance(route, APIRoute) and (allow := find_dependency(route, Allow)) is not None:
            for method in context.methods or ():
                named[(method, context.path)] = set(allow.roles)
    assert named == MAY


@pytest.mark.parametrize(("method", "path"), MAY)
@pytest.mark.parametrize("caller", EVERYBODY, ids=lambda caller: caller.role.value)
async def test_a_route_refuses_every_other_role_before_it_reads_the_body(
    shared_api: Api, method: str, path: str, caller: Principal
) -> None:
    work_id = (await shared_api.publish(ACME))["work_id"]
    client = shared_api.client(caller)
    where = path.format(work_id=work_id, contract_id=f"ctr_{'0' * 32}", sha256="0" * 64)
    answer = await client.request(method, where, content="{")
    if caller.role in MAY[(method, path)]:
        assert answer.status_code not in {401, 403}
    else:
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


@pytest.mark.parametrize(("method", "path"), MAY)
async def test_nothing_answers_without_a_token(shared_api: Api, method: str, path: str) -> None:
    client = shared_api.client()
    answer = await client.request(method, path.format(work_id="x", contract_id="x", sha256="x"))
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("method", "action", "body"), [("GET", "", None), ("POST", "/award", AWARD), ("POST", "/cancel", None)]
)
async def test_another_consumer_s_work_is_not_there(
    shared_api: Api, method: str, action: str, body: dict[str, str] | None
) -> None:
    work_id = (await shared_api.publish(ACME))["work_id"]
    client = shared_api.client(RIVAL)
    there = await client.request(method, f"/v1/work/{work_id}{action}", json=body)
    nowhere = await client.request(method, f"/v1/work/work_{'0' * 32}{action}", json=body)
    assert (there.status_code, nowhere.status_code) == (404, 404)
    assert there.json() | {"request_id": ""} == nowhere.json() | {"request_id": ""}


async def test_the_api_is_documented_with_its_bodies(shared_api: Api) -> None:
    client = shared_api.client()
    document = (await client.get("/openapi.json")).json()
    paths = document["paths"]
    posted = paths["/v1/work"]["post"]
    submitted = posted["requestBody"]["content"]["application/json"]["schema"]
    assert set(submitted["properties"]) == set(WorkSubmission.model_fields)
    assert set(posted["responses"]) >= {"201", "400", "401", "403", "409", "413", "422", "503"}
    answered = posted["responses"]["201"]["content"]["application/json"]["schema"]
    assert answered["$ref"].startswith("#/components/schemas/WorkAnswer")
    names = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert names <= set(document["components"]["schemas"])


def references(part: object) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(references(each) for each in part.values()))
    return set().union(*(references(each) for each in part)) if isinstance(part, list) else set()
