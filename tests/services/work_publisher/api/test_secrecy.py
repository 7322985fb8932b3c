import json

from structlog.testing import capture_logs

from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, BOT, SERVICE, submission


async def test_evaluation_data_are_visible_to_their_consumer_only(api: Api) -> None:
    consumer, agent, service = [api.client(caller) for caller in (ACME, BOT, SERVICE)]
    with capture_logs() as logs:
        work = await api.publish(ACME)
        path = f"/v1/work/{work['work_id']}"
        seen = [await agent.get("/v1/work"), await agent.get(path)]
        refused = await consumer.post("/v1/work", json=submission(evaluation={"pattern": "(canaryeleven"}))
        seen.append(await agent.post(f"{path}/claim"))
        contract_id = seen[-1].json()["contract_id"]
        seen += [await agent.get("/v1/work"), await agent.get(path), await agent.post(f"{path}/claim")]
        seen.append(await consumer.get("/v1/work"))
        carried = await service.get(f"/v1/awards/{contract_id}")
    assert [answer.status_code for answer in seen] == [200, 200, 201, 200, 200, 409, 200]
    digest = carried.json()["evaluation"]["digest"]
    assert not any(digest in answer.text for answer in (*seen, await consumer.get(path)))
    assert refused.status_code == 400
    for answer in (*seen, refused, carried):
        assert "canary" not in answer.text
        assert "canary" not in json.dumps(dict(answer.headers))
    assert b"canary" not in await api.stored(work["work_id"], contract_id)
    assert logs
    assert "canary" not in json.dumps(logs, default=str)
    assert "canaryone" in (await consumer.get(path)).text
