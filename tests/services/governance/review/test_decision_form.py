"""Decisions on the page: once, with a reason, and without loss of input."""

import asyncio
import re

import pytest

from aex_governance.handlers.read_holds import get_hold
from aex_models.governance import Decision, Hold, HoldStatus
from tests.services.governance.client import OLGA, OMAR, ORIGIN, Client, make_flag


@pytest.fixture
async def hold(client: Client) -> Hold:
    return await client.hold(1, make_flag())


async def read_hold(client: Client, hold: Hold) -> Hold:
    return await get_hold(client.deps, hold.hold_id)


@pytest.mark.parametrize("decision", Decision)
async def test_decision_is_recorded_emitted_and_rendered(client: Client, hold: Hold, decision: Decision) -> None:
    answer = await client.decide(hold.hold_id, decision=decision.value, reason="  looked\r\ninto it ")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/holds/{hold.hold_id}")
    decided = await read_hold(client, hold)
    assert (decided.decision, decided.decided_by, decided.reason) == (decision, "olga", "looked\ninto it")
    (event,) = await client.reviews()
    assert (event.decision, event.by, event.reason, event.attempt_id) == (decision, "olga", "looked\ninto it", "att_1")
    assert "You have" in await client.page(f"/review/holds/{hold.hold_id}")
    assert "olga has" in await client.page(f"/review/holds/{hold.hold_id}", OMAR)


async def test_decision_is_confirmed_before_it_is_recorded(client: Client, hold: Hold) -> None:
    answer = await client.decide(hold.hold_id, decision="reject", reason="a <b>copy</b>", step="check")
    assert answer.status_code == 200
    assert "Reject as fraud?" in answer.text
    assert "the consumer pays nothing" in answer.text
    assert "<blockquote>a &lt;b&gt;copy&lt;/b&gt;</blockquote>" in answer.text
    assert (await read_hold(client, hold)).status is HoldStatus.WAITING
    for step in ("", "delete"):
        assert (await client.decide(hold.hold_id, step=step)).status_code == 200
    assert await client.reviews() == []
    changed = await client.decide(hold.hold_id, decision="reject", reason="a copy", step="change")
    assert re.search(r'value="reject" required checked', changed.text)
    assert "\na copy</textarea>" in changed.text


PROBLEMS = (
    ("reason", "", "Say in a few words why"),
    ("reason", " \r\n\t ", "Say in a few words why"),
    ("reason", "\u200b\u2060\u3164 \u202e" * 3, "Say in a few words why"),
    ("reason", "x" * 301, "at most 300 characters, this one 301"),
    ("decision", "", "Choose what to do"),
    ("decision", "keep", "Choose what to do"),
)


@pytest.mark.parametrize("step", ["check", "record"])
async def test_problems_stand_beside_their_field_and_input_is_retained(client: Client, hold: Hold, step: str) -> None:
    form = await client.hold_form(hold.hold_id, step=step, decision="retry", reason="a look")
    for name, value, problem in PROBLEMS:
        answer = await client.send(hold.hold_id, form | {name: value})
        assert answer.status_code == 400
        for part in (problem, 'role="alert"', f'id="{name}-wrong"'):
            assert part in answer.text
        if name == "reason":
            assert 'aria-describedby="reason-wrong reason-help" aria-invalid="true"' in answer.text
            assert re.search(r'value="retry" required checked', answer.text)
        else:
            assert "\na look</textarea>" in answer.text
    assert await client.reviews() == []


async def test_line_ends_count_once_in_a_reason(client: Client, hold: Hold) -> None:
    reason = "\r\n".join(["x" * 99] * 3)
    assert (await client.decide(hold.hold_id, reason=reason)).status_code == 303
    assert (await read_hold(client, hold)).reason == reason.replace("\r\n", "\n")


async def test_double_click_decides_once(client: Client, hold: Hold) -> None:
    forms = [await client.hold_form(hold.hold_id) for _ in range(2)]
    sent = await asyncio.gather(*(client.send(hold.hold_id, form) for form in forms))
    third = await client.send(hold.hold_id, forms[0])
    assert [each.status_code for each in (*sent, third)] == [303, 303, 303]
    assert len(await client.reviews()) == 1


async def test_second_operator_gets_409_with_the_first_decision(client: Client, hold: Hold) -> None:
    forms = [await client.hold_form(hold.hold_id, who, decision=each, reason=f"said {each}") for who, each in RIVALS]
    sent = await asyncio.gather(
        *(client.send(hold.hold_id, form, who) for form, (who, _) in zip(forms, RIVALS, strict=True))
    )
    assert sorted(each.status_code for each in sent) == [303, 409]
    lost = next(number for number, each in enumerate(sent) if each.status_code == 409)
    decided = await read_hold(client, hold)
    assert decided.decided_by == RIVALS[1 - lost][0].id
    parts = (f"{decided.decided_by} has", f"{decided.reason}", "2026-01-01 00:01:00 UTC", f"said {RIVALS[lost][1]}")
    assert all(part in sent[lost].text for part in (*parts, "not recorded"))
    assert len(await client.reviews()) == 1


RIVALS = ((OLGA, "release"), (OMAR, "reject"))


async def test_late_decision_gets_409(client: Client, hold: Hold) -> None:
    late = await client.hold_form(hold.hold_id, OMAR, decision="retry", reason="once more", step="check")
    repeat = await client.hold_form(hold.hold_id, decision="reject")
    await client.decide(hold.hold_id, OLGA)
    for form, caller, parts in (
        (late, OMAR, ("once more", "“Verify again”")),
        (repeat, OLGA, ("you have decided before",)),
    ):
        answer = await client.send(hold.hold_id, form, caller)
        assert answer.status_code == 409
        assert all(part in answer.text for part in parts)


async def test_decided_hold_links_to_the_next_waiting_one(client: Client, hold: Hold) -> None:
    next_hold = await client.hold(2, make_flag())
    await client.decide(hold.hold_id)
    html = await client.page(f"/review/holds/{hold.hold_id}")
    assert f'href="/review/holds/{next_hold.hold_id}">Next waiting: ctr_2' in html
    await client.decide(next_hold.hold_id)
    assert "No other outcome waits" in await client.page(f"/review/holds/{next_hold.hold_id}")


async def test_cross_site_form_or_wrong_csrf_token_is_refused(client: Client, hold: Hold) -> None:
    form, other_form = [await client.hold_form(hold.hold_id, caller) for caller in (OLGA, OMAR)]
    for headers in ({}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert (await client.send(hold.hold_id, form, headers=headers)).status_code == 403
    for wrong in (form | {"csrf": ""}, form | {"csrf": "0" * 64}, other_form):
        assert (await client.send(hold.hold_id, wrong, OLGA)).status_code == 403
    assert await client.reviews() == []


async def test_decision_requires_a_session(client: Client, hold: Hold) -> None:
    form = await client.hold_form(hold.hold_id)
    answer = await client.http.post(f"/review/holds/{hold.hold_id}", data=form, headers={"Origin": ORIGIN})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/review/sign-in")
    assert await client.reviews() == []
