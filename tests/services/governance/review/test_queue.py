"""List of holds: order, filters, pages and access."""

import re
from urllib.parse import parse_qsl

from aex_governance.handlers.read_holds import (
    HoldFilter,
    find_next_waiting_hold,
    list_hold_queue,
    summarize_waiting_holds,
)
from aex_models.audiences import Audience
from aex_models.governance import Hold, HoldCause, HoldStatus
from aex_runtime.http.large_pages import LargePages
from aex_runtime.http.pagination import CursorCodec, PageRequest
from aex_runtime.identity.principals import Principal
from aex_runtime.store.port import Scalar
from tests.services.governance.client import OLGA, OMAR, Client, make_flag

WAITING, DECIDED = HoldStatus.WAITING, HoldStatus.DECIDED
FAILED = HoldCause.CUSTOM_METRIC_FAILED


async def some_holds(client: Client) -> list[Hold]:
    """Open five holds, a minute apart; decide the second, then the first."""
    holds = [
        await client.hold(0, make_flag("velocity", "major")),
        await client.hold(1, make_flag("velocity", "major"), make_flag("self_dealing")),
        await client.hold(2, cause=FAILED),
        await client.hold(3, make_flag("velocity", "major")),
        await client.hold(4, make_flag("self_dealing")),
    ]
    for number in (1, 0):
        await client.decide(holds[number].hold_id)
        client.clock.advance(client.clock.now() - holds[0].held_at)
    return holds


def page_after(after: tuple[Scalar, str] | None, limit: int) -> PageRequest:
    return PageRequest(limit, after, CursorCodec(b"k" * 32, "query"), LargePages())


async def contracts(client: Client, **fields: object) -> list[str]:
    page = page_after(None, 50)
    found = await list_hold_queue(client.deps, HoldFilter(**fields), page)  # type: ignore[arg-type]  # a test's fields
    return [each.contract_id for each in found.items]


async def test_queue_is_ordered_and_filtered(client: Client) -> None:
    await some_holds(client)
    assert await contracts(client) == ["ctr_2", "ctr_3", "ctr_4"]
    assert await contracts(client, status=DECIDED) == ["ctr_0", "ctr_1"]
    fraud = HoldCause.FRAUD_SUSPECTED
    assert await contracts(client, rule="velocity") == ["ctr_3"]
    assert await contracts(client, rule="self_dealing", status=DECIDED) == ["ctr_1"]
    assert await contracts(client, rule="velocity", status=DECIDED, cause=fraud) == ["ctr_0", "ctr_1"]
    assert await contracts(client, cause=FAILED) == ["ctr_2"]
    assert await contracts(client, cause=FAILED, rule="velocity") == []
    assert await contracts(client, cause=fraud, status=DECIDED) == ["ctr_0", "ctr_1"]


async def test_pages_have_no_gap_and_no_repetition(client: Client) -> None:
    for number in range(7):
        await client.hold(number, make_flag("velocity", "major"))
    for rule in (None, "velocity"):
        listed, after = [], None
        for size in (2, 2, 2, 1):
            found = await list_hold_queue(client.deps, HoldFilter(rule=rule), page_after(after, 2))
            assert len(found.items) == size
            listed += [each.contract_id for each in found.items]
            after = found.after
        assert (listed, after) == ([f"ctr_{number}" for number in range(7)], None)


async def test_waiting_holds_are_counted_and_followed_in_order(client: Client) -> None:
    holds = await some_holds(client)
    found = await summarize_waiting_holds(client.deps)
    assert (found.count, found.has_more, found.since) == (3, False, holds[2].held_at)
    assert found.causes == ((HoldCause.FRAUD_SUSPECTED, 2), (FAILED, 1))
    bounded = await summarize_waiting_holds(client.deps, limit=2)
    assert (bounded.count, bounded.has_more) == (2, True)
    next_page = [await find_next_waiting_hold(client.deps, holds[number]) for number in (0, 2, 3, 4)]
    assert [each.contract_id for each in next_page if each] == ["ctr_2", "ctr_3", "ctr_4", "ctr_2"]


async def test_list_has_agent_work_cause_and_wait(client: Client) -> None:
    flags = (make_flag("velocity", "minor"), make_flag("self_dealing"), make_flag("velocity", "major"))
    await client.hold(1, *flags, request_fields={"agent": {"id": "crew"}, "work_id": "work_9"})
    await client.hold(2, cause=FAILED)
    html = await client.page("/review")
    assert "<strong>2 waiting</strong>" in html
    for word in ("crew", "work_9", "acme", "Fraud suspected", "2 min", "2026-01-01 00:00:00 UTC", "not known"):
        assert word in html
    badges = re.findall(r"<li>.*?badge (\w+)\W.*?</span> (\w+)</li>", html)
    assert badges == [("bad", "self_dealing"), ("warn", "velocity")]


async def test_decided_hold_has_operator_and_reason(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    await client.decide(hold.hold_id, OMAR, decision="reject", reason="the same <b>words</b> \u202e")
    html = await client.page("/review", status="decided")
    assert "rejected" in html
    assert "by omar" in html
    assert "the same &lt;b&gt;words&lt;/b&gt;" in html
    assert "U+202E" in html
    assert "\u202e" not in html
    assert "Nothing waits for you" in await client.page("/review")


async def test_pages_keep_the_filter(client: Client) -> None:
    for number in range(5):
        await client.hold(number, make_flag("velocity", "major"))
    html = await client.page("/review", limit="3", rule="velocity")
    link = re.search(r'rel="next" href="([^"]+)"', html)
    assert link is not None
    path, _, query = link[1].replace("&amp;", "&").partition("?")
    next_page = await client.page(path, **dict(parse_qsl(query)))
    assert re.findall(r">(ctr_\d)</a>", html) == ["ctr_0", "ctr_1", "ctr_2"]
    assert re.findall(r">(ctr_\d)</a>", next_page) == ["ctr_3", "ctr_4"]
    assert "rule=velocity" in link[1]
    assert "Back to the first page" in next_page


async def test_unchanged_count_is_not_swapped(client: Client) -> None:
    await client.hold(1, make_flag())
    same, other = [await client.get(OLGA, "/review/waiting", seen=seen) for seen in ("1", "0")]
    assert same.headers["HX-Reswap"] == "none"
    assert "HX-Reswap" not in other.headers
    assert "<strong>1 waiting</strong>" in other.text


async def test_empty_list_has_an_explanation(client: Client) -> None:
    assert "Nothing waits for you" in await client.page("/review")
    assert "Nothing was decided yet" in await client.page("/review", status="decided")
    assert "No hold matches all filters" in await client.page("/review", rule="velocity")


async def test_invalid_filter_is_refused_with_its_field(client: Client) -> None:
    invalid = {"status": "gone", "cause": "x", "rule": "<b>", "cursor": "x", "limit": "0"}
    for name, value in invalid.items():
        answer = await client.get(OLGA, "/review", **{name: value})
        assert answer.status_code == (422 if name == "limit" else 400)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert name in answer.text
        assert "<b>" not in answer.text


async def test_pages_are_for_operators_only(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    for path in ("/review", "/review/rules", "/review/waiting", f"/review/holds/{hold.hold_id}"):
        assert (await client.get(None, path)).status_code == 303
        for role in set(Audience) - {Audience.OPERATOR}:
            answer = await client.get(Principal("someone", role), path)
            assert answer.status_code == 403
            assert "ctr_1" not in answer.text


async def test_rules_page_lists_every_threshold(client: Client) -> None:
    html = await client.page("/review/rules")
    for item in (await client.get(OLGA, "/v1/rules")).json()["items"]:
        assert f'id="{item["name"]}"' in html
        for name in item["thresholds"]:
            assert f'<th scope="row">{name}</th>' in html
