import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes, sha256_hex
from aex_models.contract import AwardRequest
from aex_models.events import WorkSubmitted, parse_event_data
from aex_models.work import Work, WorkAnswer, WorkStatus
from aex_outcomes.submission import Checked
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.errors import Conflict, InvalidRequest, TemporarilyUnavailable
from aex_runtime.http.idempotency import Effect
from aex_runtime.quotas import StorageBounds
from aex_work_publisher.handlers.award_work import award_work, cancel_work
from aex_work_publisher.handlers.read_work import get_work
from aex_work_publisher.handlers.submit_work import Body, submit_work, validate_work
from aex_work_publisher.repository import WORKS, EvaluationLost
from tests.parts.measured import RecordedMeasures
from tests.services.work_publisher.kit import NO_KEY, Shop, keyed, open_shop
from tests.services.work_publisher.samples import ACME, BOT, CANARIES, NOW, submission


async def publish(shop: Shop, key: str | None = None, **changes: Any) -> tuple[Effect, WorkAnswer]:
    body = submission(**changes)
    request = keyed(key, sha256_hex(canonical_bytes(body))) if key else NO_KEY
    effect, answer = await submit_work(shop.deps, ACME, Body(body, 0), request)
    assert isinstance(answer, WorkAnswer)
    return effect, answer


async def test_submission_becomes_an_open_work_and_an_event(shop: Shop) -> None:
    effect, answer = await publish(shop)
    kept = await shop.kept(effect.resource_id)
    (event,) = shop.events
    data = parse_event_data(event, WorkSubmitted)
    assert (event.type, event.subject, data.work_id) == ("work.submitted", effect.resource_id, effect.resource_id)
    assert (data.has_cpa, data.evaluation) == (True, kept.evaluation)
    assert (kept.status, kept.consumer.org, kept.work.created_at) == (WorkStatus.OPEN, "acme-org", NOW)
    assert (answer.work_id, answer.consumer_id) == (effect.resource_id, "acme")
    assert answer.quote.currency == "USD"


async def test_evaluation_data_lie_salted_in_their_blob_alone(shop: Shop) -> None:
    effect, answer = await publish(shop)
    ref = (await shop.kept(effect.resource_id)).evaluation
    assert ref is not None
    content = await shop.deps.blobs.get("evaluation", ref.digest)
    assert canonical_bytes(json.loads(content)) == content
    assert set(json.loads(content)) == {"salt", "evaluation", "input", "success_criteria"}
    assert len(content) == ref.size
    assert b"canary" not in canonical_bytes(await shop.kept(effect.resource_id))
    assert answer.evaluation is not None
    assert answer.evaluation.model_dump(mode="json", exclude_none=True, exclude_defaults=True) == CANARIES


async def test_the_same_evaluation_data_have_another_digest_each_time(shop: Shop) -> None:
    refs = [(await shop.kept((await publish(shop))[0].resource_id)).evaluation for _ in range(2)]
    assert refs[0] != refs[1]


async def test_a_work_without_evaluation_data_has_no_blob(shop: Shop) -> None:
    effect, answer = await publish(shop, evaluation=None, success_criteria=None)
    assert (await shop.kept(effect.resource_id)).evaluation is None
    assert answer.evaluation is None
    assert not parse_event_data(shop.events[0], WorkSubmitted).has_cpa


async def test_large_doubles_in_the_input_survive_storage(shop: Shop) -> None:
    effect, _ = await publish(shop, input={"large": 1e17, "huge": 1e300, "small": 5e-324})
    work = await get_work(shop.deps, BOT, effect.resource_id)
    assert work.input == {"large": 1e17, "huge": 1e300, "small": 5e-324}
    assert canonical_bytes(work)


async def test_repeat_shows_the_work_of_now_and_stores_no_blob(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = await publish(shop, "k")
    monkeypatch.setattr(shop.deps.blobs, "put", None)
    effect, answer = await publish(shop, "k")
    assert (effect.resource_id, effect.is_replay, answer.status) == (first.resource_id, True, WorkStatus.OPEN)
    assert answer.evaluation is not None
    await cancel_work(shop.deps, ACME, effect.resource_id, NO_KEY)
    assert (await publish(shop, "k"))[1].status is WorkStatus.CANCELLED
    assert len(shop.events) == 1


async def test_concurrent_requests_with_one_key_have_one_effect(shop: Shop) -> None:
    await shop.deps.blobs.ping()
    requests = [keyed("k", "same") for _ in range(50)]  # each with its own register, as in 50 processes
    ended = await asyncio.gather(
        *(submit_work(shop.deps, ACME, Body(submission(), 0), request) for request in requests), return_exceptions=True
    )
    effects = [each[0] for each in ended if isinstance(each, tuple)]
    assert len({effect.resource_id for effect in effects}) == 1
    assert [effect.is_replay for effect in effects].count(False) == 1
    assert all(isinstance(each, tuple | Conflict) for each in ended)
    assert len(shop.events) == 1


async def test_validation_says_the_same_and_keeps_nothing(shop: Shop) -> None:
    sound = await validate_work(shop.deps, ACME, Body(submission(), 0))
    _, answer = await publish(shop)
    assert (sound.valid, sound.problems) == (True, ())
    assert (sound.warnings, sound.quote) == (answer.warnings, answer.quote)
    broken = await validate_work(shop.deps, ACME, Body(submission(title=7), 10_000_000))
    assert (broken.valid, broken.quote) == (False, None)
    assert [problem.path for problem in broken.problems] == ["/title"]
    assert len(shop.events) == 1


async def test_a_work_above_a_size_is_refused_and_nothing_is_stored(shop: Shop) -> None:
    body = Body(submission(input={"text": "x" * 4_000_000}), 4_001_000)
    with pytest.raises(InvalidRequest, match="at most 4000000") as refusal:
        await submit_work(shop.deps, ACME, body, keyed("k"))
    found = await validate_work(shop.deps, ACME, body)
    assert [each.code for each in refusal.value.errors] == [each.code for each in found.problems] == ["work_too_large"]
    assert shop.events == []
    assert await WORKS.find(shop.store, {"consumer_id": "acme"}, "created_at", "desc") == []


async def test_repeat_survives_the_removal_of_a_metric(shop: Shop) -> None:
    effect, _ = await publish(shop, "k")
    later = replace(shop.deps, check=lambda _: Checked(None))
    body = submission()
    repeated, work = await submit_work(later, ACME, Body(body, 0), keyed("k", sha256_hex(canonical_bytes(body))))
    assert (repeated, type(work), work.work_id) == (Effect(effect.resource_id, True), Work, effect.resource_id)


async def test_lost_evaluation_data_are_an_error(shop: Shop) -> None:
    effect, _ = await publish(shop)
    without = replace(shop.deps, blobs=open_blobs("memory:"))
    with pytest.raises(EvaluationLost):
        await get_work(without, ACME, effect.resource_id)
    assert (await get_work(without, BOT, effect.resource_id)).work_id == effect.resource_id


async def test_repeats_of_a_key_are_counted_once() -> None:
    measured = RecordedMeasures()
    shop = open_shop(measured)
    body = submission()
    digest = sha256_hex(canonical_bytes(body))
    expected = AwardRequest.model_validate({"agent_id": "bot", "cpc_rate": "0.75"})
    for _ in range(3):
        effect, _ = await submit_work(shop.deps, ACME, Body(body, 0), keyed("a", digest))
        await award_work(shop.deps, ACME, effect.resource_id, expected, keyed("b", "", "award"))
    assert measured.counted == {("aex_works_submitted_total",): 1, ("aex_contracts_awarded_total",): 1}


async def test_nearly_full_disk_refuses_new_works_and_answers_repeats(shop: Shop, tmp_path: Path) -> None:
    first, _ = await publish(shop, "key")
    full = replace(shop, deps=replace(shop.deps, bounds=StorageBounds(0, tmp_path, 1 << 62)))
    with pytest.raises(TemporarilyUnavailable, match="storage_low"):
        await publish(full)
    repeat, _ = await publish(full, "key")
    assert (repeat.is_replay, repeat.resource_id) == (True, first.resource_id)
    await award_work(full.deps, ACME, first.resource_id, AwardRequest(agent_id="bot", cpc_rate="0.10"), NO_KEY)
