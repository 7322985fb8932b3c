import json

from structlog.testing import capture_logs

from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, BOT, SERVICE, submission


async def test_evaluation_data_appear_nowhere_but_before_their_consumer(api: Api) -> None:
    """Marked evaluation data go the whole way of a work; they meet their consumer and their blob alone."""
    consumer, agent, service = [api.client(caller) for caller in (ACME, BOT, SERVICE)]
    with capture_logs() as logs:
        work = await api.publish(ACME)
        path = f"/v1/work/{work['work_id']}"
        seen = [await agent.get("/v1/work"), await agent.get(path)]
        refused = await consumer.post("/v1/work", json=submission(evaluation={"pattern": "(canaryeleven"}))
        seen.append(await agent.post(f"{path}/claim"))
        contract_id = seen[-1].json()["contract_id"]
        seen += [await agent.get("/v1/work"), await agent.get(path), await agent.post(f"{path}/claim")]
        seen.append(await service.get(f"/v1/awards/{contract_id}"))
        seen.append(await consumer.get("/v1/work"))
    assert [answer.status_code for answer in seen] == [200, 200, 201, 200, 200, 409, 200, 200]
    assert refused.status_code == 400
    for answer in (*seen, refused):
        assert "canary" not in answer.text
        assert "canary" not in json.dumps(dict(answer.headers))
    assert b"canary" not in await api.stored(work["work_id"], contract_id)
    assert logs
    assert "canary" not in json.dumps(logs, default=str)
    assert "canaryone" in (await consumer.get(path)).text


async def test_the_digest_of_evaluation_data_is_for_services_alone(api: Api) -> None:
    work = await api.publish(ACME)
    agent = api.client(BOT)
    award = (await agent.post(f"/v1/work/{work['work_id']}/claim")).json()
    carried = (await api.client(SERVICE).get(f"/v1/awards/{award['contract_id']}")).json()
    digest = carried["evaluation"]["digest"]
    for caller in (ACME, BOT):
        shown = await api.client(caller).get(f"/v1/work/{work['work_id']}")
        assert digest not in shown.text
    assert digest not in json.dumps([award, work])
