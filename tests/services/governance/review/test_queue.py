"""The list of holds: what waits the longest comes first, and everything can be found again."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from aex_governance.handlers.holds.queue import HoldFilter, count_waiting, list_queue, next_waiting
from aex_models.audiences import Audience
from aex_models.governance import Hold, HoldCause, HoldStatus
from aex_runtime.identity.principal import Principal
from tests.services.governance.review.bureau import OLGA, OMAR, Bureau, a_flag, open_bureau
from tests.services.settlement.desk import open_store

WAITING, DECIDED = HoldStatus.WAITING, HoldStatus.DECIDED
FAILED = HoldCause.CUSTOM_METRIC_FAILED


@pytest.fixture(params=["memory", "sqlite"])
async def bureau(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bureau]:
    async with open_store(request.param, tmp_path) as store, open_bureau(tmp_path / "data", store) as opened:
        yield opened


async def some_holds(bureau: Bureau) -> list[Hold]:
    """Five, a minute apart; the second and then the first are decided."""
    holds = [
        await bureau.hold(0, a_flag("velocity", "major")),
        await bureau.hold(1, a_flag("velocity", "major"), a_flag("self_dealing")),
        await bureau.hold(2, cause=FAILED),
        await bureau.hold(3, a_flag("velocity", "major")),
        await bureau.hold(4, a_flag("self_dealing")),
    ]
    for number in (1, 0):
        await bureau.decide(holds[number].hold_id)
        bureau.clock.advance(bureau.clock.now() - holds[0].held_at)
    return holds


async def contracts(bureau: Bureau, **wanted: object) -> list[str]:
    found = await list_queue(bureau.deps, HoldFilter(**wanted), None, 50)  # type: ignore[arg-type]  # a test's fields
    return [each.contract_id for each in found.holds]


async def test_what_waits_is_listed_the_longest_first_and_what_was_decided_the_latest_first(bureau: Bureau) -> None:
    await some_holds(bureau)
    assert await contracts(bureau) == ["ctr_2", "ctr_3", "ctr_4"]
    assert await contracts(bureau, status=DECIDED) == ["ctr_0", "ctr_1"]


async def test_filters_are_exact_and_combine(bureau: Bureau) -> None:
    await some_holds(bureau)
    fraud = HoldCause.FRAUD_SUSPECTED
    assert await contracts(bureau, rule="velocity") == ["ctr_3"]
    assert await contracts(bureau, rule="self_dealing", status=DECIDED) == ["ctr_1"]
    assert await contracts(bureau, rule="velocity", status=DECIDED, cause=fraud) == ["ctr_0", "ctr_1"]
    assert await contracts(bureau, cause=FAILED) == ["ctr_2"]
    assert await contracts(bureau, cause=FAILED, rule="velocity") == []
    assert await contracts(bureau, cause=fraud, status=DECIDED) == ["ctr_0", "ctr_1"]


@pytest.mark.parametrize("rule", [None, "velocity"])
async def test_pages_follow_each_other_without_gap_or_repeat(bureau: Bureau, rule: str | None) -> None:
    for number in range(7):
        await bureau.hold(number, a_flag("velocity", "major"))
    seen, after = [], None
    for _ in range(4):
        found = await list_queue(bureau.deps, HoldFilter(rule=rule), after, 2)
        seen += [each.contract_id for each in found.holds]
        after = found.after
        if after is None:
            break
    assert seen == [f"ctr_{number}" for number in range(7)]


async def test_waiting_holds_are_counted_by_cause_up_to_a_bound(bureau: Bureau) -> None:
    holds = await some_holds(bureau)
    found = await count_waiting(bureau.deps)
    assert (found.count, found.more, found.since) == (3, False, holds[2].held_at)
    assert found.causes == ((HoldCause.FRAUD_SUSPECTED, 2), (FAILED, 1))
    bounded = await count_waiting(bureau.deps, most=2)
    assert (bounded.count, bounded.more) == (2, True)


async def test_the_next_is_the_one_that_waits_behind_this_and_then_the_first(bureau: Bureau) -> None:
    holds = await some_holds(bureau)
    following = [await next_waiting(bureau.deps, holds[number]) for number in (0, 2, 3, 4)]
    assert [each.contract_id for each in following if each] == ["ctr_2", "ctr_3", "ctr_4", "ctr_2"]


async def test_nothing_is_next_where_nothing_else_waits(bureau: Bureau) -> None:
    assert await next_waiting(bureau.deps, await bureau.hold(0)) is None


async def test_the_list_shows_whose_outcome_it_is_why_and_since_when(bureau: Bureau) -> None:
    flags = (a_flag("velocity", "minor"), a_flag("self_dealing"), a_flag("velocity", "major"))
    await bureau.hold(1, *flags, asked_about={"agent": {"id": "crew"}, "work_id": "work_9"})
    await bureau.hold(2, cause=FAILED)
    html = await bureau.page("/review")
    assert "<strong>2 waiting</strong>" in html
    for word in ("crew", "work_9", "acme", "Fraud suspected", "2 min", "2026-01-01 00:00:00 UTC", "not known"):
        assert word in html
    assert re.findall(r"<li>.*?badge (\w+)\W.*?</span> (\w+)</li>", html) == [
        ("bad", "self_dealing"),
        ("warn", "velocity"),
    ]


async def test_a_decided_hold_shows_who_decided_and_why(bureau: Bureau) -> None:
    hold = await bureau.hold(1, a_flag())
    await bureau.decide(hold.hold_id, OMAR, decision="reject", reason="the same <b>words</b>")
    html = await bureau.page("/review", status="decided")
    assert "rejected" in html
    assert "by omar" in html
    assert "the same &lt;b&gt;words&lt;/b&gt;" in html
    assert "Nothing waits for you" in await bureau.page("/review")


async def test_hidden_characters_of_a_reason_are_shown_by_their_code(bureau: Bureau) -> None:
    hold = await bureau.hold(1, a_flag())
    await bureau.decide(hold.hold_id, OMAR, decision="reject", reason="seen \u202ebefore")
    html = await bureau.page("/review", status="decided")
    assert "U+202E" in html
    assert "\u202e" not in html


async def test_a_long_list_is_paged_and_keeps_its_filter(bureau: Bureau) -> None:
    for number in range(5):
        await bureau.hold(number, a_flag("velocity", "major"))
    html = await bureau.page("/review", limit="3", rule="velocity")
    link = re.search(r'rel="next" href="([^"]+)"', html)
    assert link is not None
    path, _, query = link[1].replace("&amp;", "&").partition("?")
    following = await bureau.page(path, **dict(parse_qsl(query)))
    assert re.findall(r">(ctr_\d)</a>", html) == ["ctr_0", "ctr_1", "ctr_2"]
    assert re.findall(r">(ctr_\d)</a>", following) == ["ctr_3", "ctr_4"]
    assert "rule=velocity" in link[1]
    assert "Back to the first page" in following


async def test_the_count_keeps_quiet_while_nothing_changes(bureau: Bureau) -> None:
    await bureau.hold(1, a_flag())
    same, other = [await bureau.ask(OLGA, "/review/waiting", seen=seen) for seen in ("1", "0")]
    assert same.headers["HX-Reswap"] == "none"
    assert "HX-Reswap" not in other.headers
    assert "<strong>1 waiting</strong>" in other.text


async def test_an_empty_queue_says_what_comes_there(bureau: Bureau) -> None:
    assert "Nothing waits for you" in await bureau.page("/review")
    assert "Nothing was decided yet" in await bureau.page("/review", status="decided")
    assert "No hold matches all filters" in await bureau.page("/review", rule="velocity")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"status": "gone"}, 400),
        ({"cause": "x"}, 400),
        ({"rule": "<b>"}, 400),
        ({"cursor": "x"}, 400),
        ({"limit": "0"}, 422),
    ],
)
async def test_a_filter_that_makes_no_sense_is_a_page_that_says_why(
    bureau: Bureau, query: dict[str, str], status: int
) -> None:
    answer = await bureau.ask(OLGA, "/review", **query)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert next(iter(query)) in answer.text
    assert "<b>" not in answer.text


async def test_the_pages_are_for_operators_alone(bureau: Bureau) -> None:
    hold = await bureau.hold(1, a_flag())
    for path in ("/review", "/review/rules", "/review/waiting", f"/review/holds/{hold.hold_id}"):
        assert (await bureau.ask(None, path)).status_code == 303
        for role in set(Audience) - {Audience.OPERATOR}:
            answer = await bureau.ask(Principal("someone", role), path)
            assert answer.status_code == 403
            assert "ctr_1" not in answer.text


async def test_the_rules_page_tells_what_the_service_runs_with(bureau: Bureau) -> None:
    html = await bureau.page("/review/rules")
    for item in (await bureau.ask(OLGA, "/v1/rules")).json()["items"]:
        assert f'id="{item["name"]}"' in html
        for name in item["thresholds"]:
            assert f'<th scope="row">{name}</th>' in html
