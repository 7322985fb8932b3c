"""An agent's record over HTTP: what it adds up to, who reads it, and how much of it at once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from aex_governance.rules.projection.records import LogRecord
from aex_models.audiences import Audience
from aex_models.governance import Action
from aex_runtime.identity.principal import Principal
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.governance.counter import OLGA, SERVICE, Counter, agent, open_counter, profile_path
from tests.services.governance.logbook import ended, fold, validated

RECORDS: list[LogRecord] = [
    *(validated(number, extracted_metrics={"rougeL": 0.1 * number}) for number in range(1, 8)),
    validated(8, Action.HOLD, ("velocity", "self_dealing"), extracted_metrics={"rougeL": 100.0}),
    validated(9, Action.REJECT, ("velocity",), domain="law/tax"),
    *(ended(number) for number in range(1, 7)),
    ended(7, "exhausted"),
    ended(9, "failed", domain="law/tax"),
    validated(10, agent={"id": "other"}),
    ended(10, agent_id="other"),
]


@pytest.fixture(params=["memory", "sqlite"])
async def counter(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Counter]:
    store: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.sqlite3")
    try:
        async with open_counter(store, tmp_path / "data") as opened:
            yield opened
    finally:
        await store.close()


async def test_a_profile_adds_up_an_agents_record_in_all_and_by_domain(counter: Counter) -> None:
    await fold(counter.store, RECORDS)
    for reader in (OLGA, SERVICE):
        found = await counter.profile(reader, "bot")
        general, law = found.pop("domains")
        assert found == {
            "agent_id": "bot",
            "outcomes": 8,
            "successes": 6,
            "success_rate": 0.75,
            "final_statuses": {"exhausted": 1, "failed": 1, "passed": 6},
            "decisions": {"allow": 7, "hold": 1, "reject": 1},
            "flags": {"self_dealing": 1, "velocity": 2},
            "next_cursor": None,
        }
        assert (general["domain"], general["outcomes"], general["successes"]) == ("general", 7, 6)
        assert law == {
            "domain": "law/tax",
            "outcomes": 1,
            "successes": 0,
            "success_rate": 0.0,
            "final_statuses": {"failed": 1},
            "decisions": {"reject": 1},
            "flags": {"velocity": 1},
            "metrics": {},
        }


async def test_metrics_are_those_of_allowed_attempts_with_median_and_deviation(counter: Counter) -> None:
    await fold(counter.store, RECORDS)
    found = (await counter.profile(OLGA, "bot"))["domains"][0]["metrics"]["rougeL"]
    assert found["count"] == 7
    assert found["median"] == pytest.approx(0.4, rel=0.02)
    assert found["mad"] == pytest.approx(0.2, rel=0.05)


async def test_an_agent_without_a_history_has_counts_of_zero_and_no_rate(counter: Counter) -> None:
    nothing: dict[str, Any] = {"outcomes": 0, "successes": 0, "success_rate": None, "final_statuses": {}, "domains": []}
    assert await counter.profile(agent("new"), "new") == {"agent_id": "new", **nothing, "next_cursor": None}
    asked = await counter.profile(OLGA, "nobody")
    assert asked == {"agent_id": "nobody", **nothing, "decisions": {}, "flags": {}, "next_cursor": None}


async def test_an_agent_reads_its_own_record_without_what_was_flagged(counter: Counter) -> None:
    await fold(counter.store, RECORDS)
    found = await counter.profile(agent("bot"), "bot")
    assert (found["outcomes"], found["success_rate"]) == (8, 0.75)
    assert not {"flags", "decisions"} & set(found)
    assert all(not {"flags", "decisions", "metrics"} & set(each) for each in found["domains"])


async def test_whose_record_it_is_not_cannot_tell_whether_there_is_one(counter: Counter) -> None:
    await fold(counter.store, RECORDS)
    answers = [await counter.ask(agent("bot"), profile_path(name)) for name in ("other", "nobody")]
    assert [each.status_code for each in answers] == [404, 404]
    told = [{**each.json(), "instance": "", "request_id": ""} for each in answers]
    assert told[0] == told[1]


@pytest.mark.parametrize("role", [Audience.CONSUMER, Audience.FINANCE])
async def test_other_roles_read_no_profiles(counter: Counter, role: Audience) -> None:
    assert (await counter.ask(Principal("bot", role), profile_path("bot"))).status_code == 403
    assert (await counter.ask(None, profile_path("bot"))).status_code == 401


@pytest.mark.parametrize("name", ["a/b", "profile", "x/profile", "/", "a:b@c+d-e._", "a/profile/profile"])
async def test_an_id_may_hold_whatever_an_identifier_may(counter: Counter, name: str) -> None:
    await fold(counter.store, [ended(1, agent_id=name), ended(2, agent_id=f"{name}2")])
    assert (await counter.profile(OLGA, name))["outcomes"] == 1
    assert (await counter.profile(agent(name), name))["agent_id"] == name


@pytest.mark.parametrize("name", ["a b", "x" * 129, "ü"])
async def test_what_is_no_identifier_is_refused(counter: Counter, name: str) -> None:
    assert (await counter.ask(OLGA, profile_path(name))).status_code == 422


async def test_of_many_domains_a_page_is_shown_and_the_totals_are_of_all(counter: Counter) -> None:
    names = sorted(f"domain-{number}" for number in range(230))
    await fold(counter.store, [ended(number, domain=name) for number, name in enumerate(names)])
    await fold(counter.store, [ended(1_000 + number, domain=name) for number, name in enumerate(names)])
    shown: list[str] = []
    cursor: dict[str, str] = {}
    for size in (100, 100, 30):
        found = await counter.profile(OLGA, "bot", limit=100, **cursor)
        assert (found["outcomes"], len(found["domains"])) == (460, size)
        assert all(each["outcomes"] == 2 for each in found["domains"])
        shown += [each["domain"] for each in found["domains"]]
        cursor = {"cursor": found["next_cursor"]}
    assert shown == names
    assert cursor == {"cursor": None}
    assert len((await counter.profile(OLGA, "bot"))["domains"]) == 50


async def test_a_cursor_serves_the_profile_that_it_came_from_alone(counter: Counter) -> None:
    await fold(counter.store, [ended(number, domain=f"d{number}") for number in range(3)])
    cursor = (await counter.profile(OLGA, "bot", limit=1))["next_cursor"]
    assert (await counter.ask(OLGA, profile_path("other"), limit=1, cursor=cursor)).status_code == 400
