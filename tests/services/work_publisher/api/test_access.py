from aex_models.work import WorkSubmission
from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, BOT, FINANCE, OPERATOR, SERVICE

MAY = {
    "/v1/work": ACME,
    "/v1/work/validate": ACME,
    "/v1/work/{work_id}/award": ACME,
    "/v1/work/{work_id}/cancel": ACME,
    "/v1/work/{work_id}/claim": BOT,
}


async def test_a_route_refuses_other_roles_before_it_reads_the_body(shared_api: Api) -> None:
    work_id = (await shared_api.publish(ACME))["work_id"]
    for path, allowed in MAY.items():
        for caller in (ACME, BOT, FINANCE, OPERATOR, SERVICE):
            answer = await shared_api.client(caller).post(path.format(work_id=work_id), content="{")
            if caller is allowed:
                assert answer.status_code not in {401, 403}
            else:
                assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


async def test_the_api_is_documented_with_its_bodies(shared_api: Api) -> None:
    client = shared_api.client()
    document = (await client.get("/openapi.json")).json()
    paths = document["paths"]
    posted = paths["/v1/work"]["post"]
    submitted = posted["requestBody"]["content"]["application/json"]["schema"]
    assert submitted == {"$ref": "#/components/schemas/WorkSubmission"}
    described = document["components"]["schemas"]["WorkSubmission"]
    assert set(described["properties"]) == set(WorkSubmission.model_fields)
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
