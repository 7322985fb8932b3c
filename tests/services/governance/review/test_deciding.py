"""Deciding on the page: once, for a reason, by whoever was first; nothing that was typed is lost."""

import asyncio
import re

import pytest

from aex_governance.handlers.holds import get_hold
from aex_models.governance import Decision, Hold, HoldStatus
from tests.services.governance.review.bureau import OLGA, OMAR, ORIGIN, Bureau, a_flag


@pytest.fixture
async def hold(bureau: Bureau) -> Hold:
    return await bureau.hold(1, a_flag())


async def standing(bureau: Bureau, hold: Hold) -> Hold:
    return await get_hold(bureau.deps, hold.hold_id)


@pytest.mark.parametrize("decision", Decision)
async def test_a_decision_is_recorded_told_to_verification_and_shown(
    bureau: Bureau, hold: Hold, decision: Decision
) -> None:
    answer = await bureau.decide(hold.hold_id, decision=decision.value, reason="  looked\r\ninto it ")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/holds/{hold.hold_id}")
    decided = await standing(bureau, hold)
    assert (decided.decision, decided.decided_by, decided.reason) == (decision, "olga", "looked\ninto it")
    (told,) = await bureau.reviews()
    assert (told.decision, told.by, told.reason, told.attempt_id) == (decision, "olga", "looked\ninto it", "att_1")
    assert "You have" in await bureau.page(f"/review/holds/{hold.hold_id}")
    assert "olga has" in await bureau.page(f"/review/holds/{hold.hold_id}", OMAR)


async def test_a_decision_is_looked_at_once_more_before_it_is_recorded(bureau: Bureau, hold: Hold) -> None:
    answer = await bureau.decide(hold.hold_id, decision="reject", reason="a <b>copy</b>", step="check")
    assert answer.status_code == 200
    assert "Reject as fraud?" in answer.text
    assert "the consumer pays nothing" in answer.text
    assert "<blockquote>a &lt;b&gt;copy&lt;/b&gt;</blockquote>" in answer.text
    assert (await standing(bureau, hold)).status is HoldStatus.WAITING
    changed = await bureau.decide(hold.hold_id, decision="reject", reason="a copy", step="change")
    assert re.search(r'value="reject" required checked', changed.text)
    assert "\na copy</textarea>" in changed.text


async def test_a_form_that_says_no_step_records_nothing(bureau: Bureau, hold: Hold) -> None:
    for step in ("", "delete"):
        assert (await bureau.decide(hold.hold_id, step=step)).status_code == 200
    assert await bureau.reviews() == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"reason": ""}, "Say in a few words why"),
        ({"reason": " \r\n\t "}, "Say in a few words why"),
        ({"reason": "\u200b\u2060\u3164 \u202e" * 3}, "Say in a few words why"),
        ({"reason": "x" * 301}, "at most 300 characters, this one 301"),
        ({"decision": ""}, "Choose what to do"),
        ({"decision": "keep"}, "Choose what to do"),
    ],
)
@pytest.mark.parametrize("step", ["check", "record"])
async def test_what_is_missing_is_said_beside_the_field_and_what_was_typed_is_kept(
    bureau: Bureau, hold: Hold, typed: dict[str, str], said: str, step: str
) -> None:
    form = await bureau.hold_form(hold.hold_id, step=step, decision="retry", reason="a look") | typed
    answer = await bureau.send(hold.hold_id, form)
    assert answer.status_code == 400
    assert said in answer.text
    assert 'role="alert"' in answer.text
    name = next(iter(typed))
    assert f'id="{name}-wrong"' in answer.text
    if name == "reason":
        assert 'aria-describedby="reason-wrong reason-help" aria-invalid="true"' in answer.text
        assert re.search(r'value="retry" required checked', answer.text)
    else:
        assert "\na look</textarea>" in answer.text
    assert await bureau.reviews() == []


async def test_300_characters_on_several_lines_are_not_too_many(bureau: Bureau, hold: Hold) -> None:
    reason = "\r\n".join(["x" * 99] * 3)
    assert (await bureau.decide(hold.hold_id, reason=reason)).status_code == 303
    assert (await standing(bureau, hold)).reason == reason.replace("\r\n", "\n")


async def test_a_button_that_is_pressed_twice_decides_once(bureau: Bureau, hold: Hold) -> None:
    answers = [await bureau.hold_form(hold.hold_id) for _ in range(2)]
    sent = await asyncio.gather(*(bureau.send(hold.hold_id, form) for form in answers))
    again = await bureau.send(hold.hold_id, answers[0])
    assert [each.status_code for each in (*sent, again)] == [303, 303, 303]
    assert len(await bureau.reviews()) == 1


async def test_of_two_operators_the_first_decides_and_the_other_is_told_everything(bureau: Bureau, hold: Hold) -> None:
    forms = [await bureau.hold_form(hold.hold_id, who, decision=each, reason=f"said {each}") for who, each in RIVALS]
    sent = await asyncio.gather(
        *(bureau.send(hold.hold_id, form, who) for form, (who, _) in zip(forms, RIVALS, strict=True))
    )
    assert sorted(each.status_code for each in sent) == [303, 409]
    lost = next(number for number, each in enumerate(sent) if each.status_code == 409)
    decided = await standing(bureau, hold)
    assert decided.decided_by == RIVALS[1 - lost][0].id
    html = sent[lost].text
    for part in (
        f"{decided.decided_by} has",
        f"{decided.reason}",
        "2026-01-01 00:01:00 UTC",
        f"said {RIVALS[lost][1]}",
    ):
        assert part in html
    assert "not recorded" in html
    assert len(await bureau.reviews()) == 1


RIVALS = ((OLGA, "release"), (OMAR, "reject"))


async def test_who_is_late_learns_it_before_confirming(bureau: Bureau, hold: Hold) -> None:
    form = await bureau.hold_form(hold.hold_id, OMAR, decision="retry", reason="once more", step="check")
    await bureau.decide(hold.hold_id, OLGA)
    answer = await bureau.send(hold.hold_id, form, OMAR)
    assert answer.status_code == 409
    assert "once more" in answer.text
    assert "“Verify again”" in answer.text


async def test_one_and_the_same_operator_who_thinks_otherwise_later_is_late_too(bureau: Bureau, hold: Hold) -> None:
    form = await bureau.hold_form(hold.hold_id, decision="reject")
    await bureau.decide(hold.hold_id)
    answer = await bureau.send(hold.hold_id, form)
    assert answer.status_code == 409
    assert "you have decided before" in answer.text


async def test_the_api_and_the_page_decide_the_same_hold(bureau: Bureau, hold: Hold) -> None:
    form = await bureau.hold_form(hold.hold_id, OMAR)
    path = f"/v1/holds/{hold.hold_id}/decision"
    answer = await bureau.client.post(path, json={"decision": "reject", "reason": "seen"}, headers=bureau.bearer(OLGA))
    assert answer.status_code == 200
    assert (await bureau.send(hold.hold_id, form, OMAR)).status_code == 409


async def test_after_a_decision_the_next_that_waits_is_offered(bureau: Bureau, hold: Hold) -> None:
    following = await bureau.hold(2, a_flag())
    await bureau.decide(hold.hold_id)
    html = await bureau.page(f"/review/holds/{hold.hold_id}")
    assert f'href="/review/holds/{following.hold_id}">Next waiting: ctr_2' in html
    await bureau.decide(following.hold_id)
    assert "No other outcome waits" in await bureau.page(f"/review/holds/{following.hold_id}")


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_a_form_from_elsewhere_decides_nothing(bureau: Bureau, hold: Hold, headers: dict[str, str]) -> None:
    form = await bureau.hold_form(hold.hold_id)
    assert (await bureau.send(hold.hold_id, form, headers=headers)).status_code == 403
    assert (await standing(bureau, hold)).status is HoldStatus.WAITING


async def test_a_form_without_its_token_or_with_that_of_another_session_decides_nothing(
    bureau: Bureau, hold: Hold
) -> None:
    theirs = await bureau.hold_form(hold.hold_id, OMAR)
    for form in (theirs | {"csrf": ""}, theirs | {"csrf": "0" * 64}, theirs):
        assert (await bureau.send(hold.hold_id, form, OLGA)).status_code == 403
    assert await bureau.reviews() == []


async def test_a_decision_needs_somebody_who_has_signed_in(bureau: Bureau, hold: Hold) -> None:
    form = await bureau.hold_form(hold.hold_id)
    answer = await bureau.client.post(f"/review/holds/{hold.hold_id}", data=form, headers={"Origin": ORIGIN})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/review/sign-in")
    assert await bureau.reviews() == []


async def test_a_decision_on_a_hold_that_is_not_there_is_not_found(bureau: Bureau, hold: Hold) -> None:
    form = await bureau.hold_form(hold.hold_id)
    assert (await bureau.send("hold_none", form)).status_code == 404
