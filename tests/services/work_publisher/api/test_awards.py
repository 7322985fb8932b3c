import json
from typing import Any

import pytest

from aex_runtime.identity.principals import Principal
from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, BOT, OTHER_BOT, SERVICE

AWARD = {"agent_id": "bot", "cpc_rate": "0.75"}


async def send(api: Api, caller: Principal, path: str, body: Any = None, key: str = "") -> tuple[int, dict[str, Any]]:
    client = api.client(caller)
    answer = await client.post(path, json=body, headers={"Idempotency-Key": key} if key else {})
    if answer.is_success:
        assert "location" not in answer.headers  # the award itself is for services alone
    return answer.status_code, answer.json()


async def test_a_consumer_awards_its_work(api: Api) -> None:
    work_id = (await api.publish(ACME))["work_id"]
    status, award = await send(api, ACME, f"/v1/work/{work_id}/award", AWARD)
    assert (status, award["contract_id"][:4]) == (201, "ctr_")
    assert (award["work_id"], award["agent_id"], award["cpc_rate"]) == (work_id, "bot", "0.75")
    assert (award["terms"]["fee_rate"], award["terms"]["max_cpa_total"]) == ("0.05", "2.00")
    visible = await api.client(SERVICE).get(f"/v1/awards/{award['contract_id']}")
    (event,) = [each for each in await api.events() if each.type == "contract.awarded"]
    assert visible.json() == json.loads(json.dumps(event.data))
    assert set(visible.json()["evaluation"]) == {"digest", "size"}
    assert visible.json()["work"]["status"] == "awarded"


async def test_award_has_the_trace_of_its_request(api: Api) -> None:
    trace_id, path = "4bf92f3577b34da6a3ce929d0e0e4736", f"/v1/work/{(await api.publish(ACME))['work_id']}/award"
    headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    award = await api.client(ACME).post(path, json=AWARD, headers=headers)
    assert trace_id not in award.text
    visible = await api.client(SERVICE).get(f"/v1/awards/{award.json()['contract_id']}")
    assert visible.headers["ce-traceparent"].split("-")[1] == trace_id
    assert trace_id not in visible.text


async def test_missing_award_is_a_404(api: Api) -> None:
    for contract_id in ("nothing", f"ctr_{'0' * 32}", "__x__"):
        assert (await api.client(SERVICE).get(f"/v1/awards/{contract_id}")).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"agent_id": "bot", "cpc_rate": "1.000001"}, 400, "cpc_rate_above_max"),
        ({"agent_id": "bot", "cpc_rate": "-1"}, 422, "invalid_shape"),
        ({"agent_id": "bot", "cpc_rate": "1e-1"}, 422, "invalid_shape"),
        ({"agent_id": "a bot", "cpc_rate": "1"}, 422, "invalid_shape"),
        ({"agent_id": "bot"}, 422, "invalid_shape"),
        ({"agent_id": "bot", "cpc_rate": "1", "deadline_s": 1}, 422, "invalid_shape"),
    ],
)
async def test_a_bad_award_is_refused(shared_api: Api, body: dict[str, Any], status: int, code: str) -> None:
    work_id = (await shared_api.publish(ACME))["work_id"]
    refused, answer = await send(shared_api, ACME, f"/v1/work/{work_id}/award", body)
    assert (refused, answer["code"]) == (status, code)


async def test_a_repeated_award_is_the_same_award(api: Api) -> None:
    work_id = (await api.publish(ACME))["work_id"]
    first = await send(api, ACME, f"/v1/work/{work_id}/award", AWARD, "k")
    assert await send(api, ACME, f"/v1/work/{work_id}/award", AWARD, "k") == first
    assert (await send(api, ACME, f"/v1/work/{work_id}/award", {**AWARD, "agent_id": "x"}, "k"))[0] == 422
    assert (await send(api, ACME, f"/v1/work/{work_id}/award", AWARD, "l"))[0] == 409


async def test_an_agent_claims_at_the_highest_rate(api: Api) -> None:
    work_id = (await api.publish(ACME))["work_id"]
    status, award = await send(api, BOT, f"/v1/work/{work_id}/claim", key="k")
    assert (status, award["agent_id"], award["cpc_rate"]) == (201, "bot", "1.00")
    assert await send(api, BOT, f"/v1/work/{work_id}/claim", key="k") == (status, award)
    assert (await send(api, BOT, f"/v1/work/{work_id}/claim"))[0] == 409
    assert (await send(api, OTHER_BOT, f"/v1/work/{work_id}/claim"))[0] == 404


async def test_a_claim_needs_the_consumer_s_leave(api: Api) -> None:
    work_id = (await api.publish(ACME, allow_claims=False))["work_id"]
    status, answer = await send(api, BOT, f"/v1/work/{work_id}/claim")
    assert (status, answer["code"]) == (403, "claims_not_allowed")
