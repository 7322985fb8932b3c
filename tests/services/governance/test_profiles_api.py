"""Profiles over the API: sums, access and pages."""

from typing import Any

import pytest

from aex_governance.rules.projection_documents import LogRecord
from aex_models.audiences import Audience
from aex_models.governance import Action
from aex_runtime.identity.principals import Principal
from tests.services.governance.client import OLGA, SERVICE, Client, agent, profile_path
from tests.services.governance.log_records import fold, outcome_entry, validation_entry

RECORDS: list[LogRecord] = [
    *(validation_entry(number, extracted_metrics={"rougeL": 0.1 * number}) for number in range(1, 8)),
    validation_entry(8, Action.HOLD, ("velocity", "self_dealing"), extracted_metrics={"rougeL": 100.0}),
    validation_entry(9, Action.REJECT, ("velocity",), domain="law/tax"),
    *(outcome_entry(number) for number in range(1, 7)),
    outcome_entry(7, "exhausted"),
    outcome_entry(9, "failed", domain="law/tax"),
    validation_entry(10, agent={"id": "other"}),
    outcome_entry(10, agent_id="other"),
]


async def test_profile_has_totals_and_domains(client: Client) -> None:
    await fold(client.deps.store, RECORDS)
    for reader in (OLGA, SERVICE):
        found = await client.profile(reader, "bot")
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
        metric = general["metrics"]["rougeL"]
        assert metric["count"] == 7, "of allowed attempts"
        assert metric["median"] == pytest.approx(0.4, rel=0.02)
        assert metric["mad"] == pytest.approx(0.2, rel=0.05)
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


async def test_unknown_agent_has_zero_counts(client: Client) -> None:
    nothing: dict[str, Any] = {"outcomes": 0, "successes": 0, "success_rate": None, "final_statuses": {}, "domains": []}
    assert await client.profile(agent("new"), "new") == {"agent_id": "new", **nothing, "next_cursor": None}
    profile = await client.profile(OLGA, "unknown")
    assert profile == {"agent_id": "unknown", **nothing, "decisions": {}, "flags": {}, "next_cursor": None}


async def test_agent_reads_its_profile_without_flags(client: Client) -> None:
    await fold(client.deps.store, RECORDS)
    found = await client.profile(agent("bot"), "bot")
    assert (found["outcomes"], found["success_rate"]) == (8, 0.75)
    assert not {"flags", "decisions"} & set(found)
    assert all(not {"flags", "decisions", "metrics"} & set(each) for each in found["domains"])


async def test_profile_of_another_agent_is_not_found(client: Client) -> None:
    await fold(client.deps.store, RECORDS)
    responses = [await client.get(agent("bot"), profile_path(name)) for name in ("other", "unknown")]
    assert [each.status_code for each in responses] == [404, 404]
    bodies = [{**each.json(), "instance": "", "request_id": ""} for each in responses]
    assert bodies[0] == bodies[1]


async def test_other_roles_are_refused(client: Client) -> None:
    for role in (Audience.CONSUMER, Audience.FINANCE):
        assert (await client.get(Principal("bot", role), profile_path("bot"))).status_code == 403
    assert (await client.get(None, profile_path("bot"))).status_code == 401


async def test_agent_id_has_any_identifier(client: Client) -> None:
    names = ["a/b", "profile", "x/profile", "/", "a:b@c+d-e._", "a/profile/profile"]
    await fold(client.deps.store, [outcome_entry(number, agent_id=name) for number, name in enumerate(names)])
    for name in names:
        assert (await client.profile(OLGA, name))["outcomes"] == 1
        assert (await client.profile(agent(name), name))["agent_id"] == name
    for name in ("a b", "x" * 129, "ü"):
        assert (await client.get(OLGA, profile_path(name))).status_code == 422


async def test_domains_are_paged_with_full_totals(client: Client) -> None:
    names = sorted(f"domain-{number}" for number in range(230))
    await fold(client.deps.store, [outcome_entry(number, domain=name) for number, name in enumerate(names)])
    await fold(client.deps.store, [outcome_entry(1_000 + number, domain=name) for number, name in enumerate(names)])
    listed: list[str] = []
    cursor: dict[str, str] = {}
    for size in (100, 100, 30):
        found = await client.profile(OLGA, "bot", limit=100, **cursor)
        assert (found["outcomes"], len(found["domains"])) == (460, size)
        assert all(each["outcomes"] == 2 for each in found["domains"])
        listed += [each["domain"] for each in found["domains"]]
        cursor = {"cursor": found["next_cursor"]}
    assert listed == names
    assert cursor == {"cursor": None}
    assert len((await client.profile(OLGA, "bot"))["domains"]) == 50


async def test_cursor_of_another_profile_is_refused(client: Client) -> None:
    await fold(client.deps.store, [outcome_entry(number, domain=f"d{number}") for number in range(3)])
    cursor = (await client.profile(OLGA, "bot", limit=1))["next_cursor"]
    assert (await client.get(OLGA, profile_path("other"), limit=1, cursor=cursor)).status_code == 400
