from datetime import timedelta
from typing import Any

import pytest

from aex_runtime.clock import SetClock
from aex_runtime.identity.principals import Principal
from tests.services.work_publisher.over_http import Api
from tests.services.work_publisher.samples import ACME, BOT, OTHER_BOT, RIVAL


async def listed(api: Api, caller: Principal, **query: Any) -> list[str]:
    client = api.client(caller)
    titles: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get("/v1/work", params={**query, **cursor})
        assert answer.status_code == 200, answer.text
        titles += [item["title"] for item in answer.json()["items"]]
        if answer.json()["next_cursor"] is None:
            return titles
        cursor = {"cursor": answer.json()["next_cursor"]}


async def publish_series(api: Api, caller: Principal, *titles: str) -> list[str]:
    clock = api.backends.clock
    assert isinstance(clock, SetClock)
    ids = []
    for title in titles:
        clock.advance(timedelta(seconds=1))
        ids.append((await api.publish(caller, title=title))["work_id"])
    return ids


async def award(api: Api, work_id: str, agent: str = "bot", consumer: Principal = ACME) -> None:
    client = api.client(consumer)
    answer = await client.post(f"/v1/work/{work_id}/award", json={"agent_id": agent, "cpc_rate": "0.5"})
    assert answer.status_code == 201


async def test_evaluation_data_are_visible_to_their_consumer_only(api: Api) -> None:
    work = await api.publish(ACME)
    client = api.client(ACME)
    visible = (await client.get(f"/v1/work/{work['work_id']}")).json()
    assert visible == {name: value for name, value in work.items() if name not in {"warnings", "quote"}}
    visible = (await api.client(BOT).get(f"/v1/work/{work['work_id']}")).json()
    hidden = {"warnings", "quote", "evaluation"}
    assert visible == {name: value for name, value in work.items() if name not in hidden}


async def test_an_awarded_work_is_its_agent_s_alone(api: Api) -> None:
    work_id = (await api.publish(ACME))["work_id"]
    await award(api, work_id)
    statuses = {
        caller.id: (await api.client(caller).get(f"/v1/work/{work_id}")).status_code
        for caller in (ACME, BOT, OTHER_BOT, RIVAL)
    }
    assert statuses == {"acme": 200, "bot": 200, "other-bot": 404, "rival": 404}


@pytest.mark.parametrize(
    "work_id", ["nothing", "..", "__x__", "work_" + "0" * 32, "work_" + "g" * 32, "w" * 3000, "%00", "work_%0A"]
)
async def test_a_work_that_is_not_there_is_a_404(shared_api: Api, work_id: str) -> None:
    client = shared_api.client(ACME)
    answer = await client.get(f"/v1/work/{work_id}")
    assert answer.status_code == 404


async def test_consumer_lists_its_works_newest_first(api: Api) -> None:
    ids = await publish_series(api, ACME, "one", "two", "three")
    await publish_series(api, RIVAL, "rival's")
    assert await listed(api, ACME) == ["three", "two", "one"]
    assert await listed(api, ACME, limit=1) == ["three", "two", "one"]
    await award(api, ids[0])
    assert await listed(api, ACME, status="awarded") == ["one"]
    assert await listed(api, ACME, status="open", limit=1) == ["three", "two"]


async def test_an_agent_lists_what_is_open_and_what_is_its_own(api: Api) -> None:
    ids = await publish_series(api, ACME, "one", "two", "three", "four", "five")
    await award(api, ids[1])
    await award(api, ids[3], agent="other-bot")
    for limit in (1, 2, 50):
        assert await listed(api, BOT, limit=limit) == ["five", "three", "two", "one"]
    assert await listed(api, BOT, status="open") == ["five", "three", "one"]
    assert await listed(api, BOT, status="awarded") == ["two"]
    assert await listed(api, BOT, status="checking") == []


async def test_works_of_the_same_instant_are_all_listed_once(api: Api) -> None:
    for number in range(5):
        await api.publish(ACME, title=str(number))
    for caller in (ACME, BOT):
        assert sorted(await listed(api, caller, limit=2)) == ["0", "1", "2", "3", "4"]


async def test_a_cursor_serves_its_own_query_alone(api: Api) -> None:
    await publish_series(api, ACME, "one", "two")
    cursor = (await api.client(ACME).get("/v1/work", params={"limit": 1})).json()["next_cursor"]
    for caller, query in ((RIVAL, {}), (ACME, {"status": "open"})):
        answer = await api.client(caller).get("/v1/work", params={**query, "limit": 1, "cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"status": "lost"}])
async def test_a_malformed_query_is_a_422(shared_api: Api, query: dict[str, Any]) -> None:
    answer = await shared_api.client(ACME).get("/v1/work", params=query)
    assert answer.status_code == 422


async def test_a_work_is_cancelled_until_it_is_awarded(api: Api) -> None:
    first, second = await publish_series(api, ACME, "one", "two")
    client = api.client(ACME)
    for _ in range(2):
        answer = await client.post(f"/v1/work/{first}/cancel")
        assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    await award(api, second)
    answer = await client.post(f"/v1/work/{second}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "work_not_cancellable")
