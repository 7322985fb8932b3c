import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes, sha256_hex
from aex_models.events import WorkSubmitted, read_data
from aex_models.work import Work, WorkAnswer, WorkStatus
from aex_outcomes.submission import Checked
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.errors import Conflict, InvalidRequest, Unprocessable
from aex_runtime.http.idempotency import Effect
from aex_work_publisher.handlers.cancel_work import cancel_work
from aex_work_publisher.handlers.check_work import Body, validate_work
from aex_work_publisher.handlers.read_work import get_work
from aex_work_publisher.handlers.submit_work import submit_work
from aex_work_publisher.repository import EvaluationLost
from tests.services.work_publisher.kit import NO_KEY, RefusingBlobs, Shop, keyed, open_shop
from tests.services.work_publisher.samples import ACME, BOT, CANARIES, NOW, submission


@pytest.fixture
def shop() -> Shop:
    return open_shop()


async def publish(shop: Shop, key: str | None = None, **changes: Any) -> tuple[Effect, WorkAnswer]:
    body = submission(**changes)
    request = keyed(key, sha256_hex(canonical_bytes(body))) if key else NO_KEY
    effect, answer = await submit_work(shop.deps, ACME, Body(body, 0), request)
    assert isinstance(answer, WorkAnswer)
    return effect, answer


async def refused(shop: Shop, kind: type[Exception], body: Any) -> set[str]:
    with pytest.raises(kind) as error:
        await submit_work(shop.deps, ACME, Body(body, 0), NO_KEY)
    return {f"{problem.path} {problem.code}" for problem in error.value.errors}  # type: ignore[attr-defined]


async def test_a_submission_becomes_an_open_work(shop: Shop) -> None:
    effect, answer = await publish(shop)
    kept = await shop.kept(effect.resource_id)
    assert (kept.status, kept.consumer.org, kept.work.created_at) == (WorkStatus.OPEN, "acme-org", NOW)
    assert (answer.work_id, answer.consumer_id) == (effect.resource_id, "acme")
    assert answer.quote.currency == "USD"


async def test_verification_is_told_of_it(shop: Shop) -> None:
    effect, _ = await publish(shop)
    (event,) = shop.events
    assert (event.type, event.subject) == ("work.submitted", effect.resource_id)
    told = read_data(event, WorkSubmitted)
    assert (told.work_id, told.has_cpa) == (effect.resource_id, True)
    assert told.evaluation == (await shop.kept(effect.resource_id)).evaluation


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
    assert not read_data(shop.events[0], WorkSubmitted).has_cpa


async def test_large_doubles_in_the_input_survive_storage(shop: Shop) -> None:
    effect, _ = await publish(shop, input={"large": 1e17, "huge": 1e300, "small": 5e-324})
    work = await get_work(shop.deps, BOT, effect.resource_id)
    assert work.input == {"large": 1e17, "huge": 1e300, "small": 5e-324}
    assert canonical_bytes(work)


async def test_everything_that_is_wrong_comes_at_once_and_nothing_is_kept(shop: Shop) -> None:
    body = submission(
        title="",
        evaluation=None,
        input={"reference": "x"},
        success_criteria={
            "criteria": [
                {"metric": "nonsense", "metric_type": "numeric", "comparison": "gte", "threshold": 1},
                {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 40},
            ]
        },
        budget={"max_cpc": "-1", "base_policy": "judged"},
    )
    assert await refused(shop, InvalidRequest, body) == {
        "/title string_too_short",
        "/input/reference evaluation_in_input",
        "/success_criteria/criteria/0/metric unknown_metric",
        "/success_criteria/criteria/1/threshold invalid_threshold",
        "/evaluation/reference evaluation_missing",
        "/budget/max_cpc greater_than_equal",
        "/allow_claims claims_require_on_success",
    }
    assert shop.events == []


async def test_wrong_shapes_alone_are_told_apart_from_wrong_sense(shop: Shop) -> None:
    assert await refused(shop, Unprocessable, submission(title=7)) == {"/title string_type"}
    assert await refused(shop, Unprocessable, []) == {" model_type"}


async def test_a_repeat_gives_the_first_work_again(shop: Shop) -> None:
    first, told = await publish(shop, "k")
    again, retold = await publish(shop, "k")
    assert (again.resource_id, again.replayed) == (first.resource_id, True)
    assert retold == told
    assert len(shop.events) == 1


async def test_a_repeat_stores_no_second_blob(shop: Shop) -> None:
    await publish(shop, "k")
    blobs = RefusingBlobs(shop.deps.blobs)
    effect, answer = await publish(replace(shop, deps=replace(shop.deps, blobs=blobs)), "k")
    assert effect.replayed
    assert answer.evaluation is not None


async def test_a_repeat_shows_what_became_of_the_work(shop: Shop) -> None:
    effect, _ = await publish(shop, "k")
    kept = await shop.kept(effect.resource_id)
    assert kept.status is WorkStatus.OPEN
    await cancel_work(shop.deps, ACME, effect.resource_id, NO_KEY)
    _, retold = await publish(shop, "k")
    assert retold.status is WorkStatus.CANCELLED


async def test_a_key_that_comes_with_another_body_is_refused(shop: Shop) -> None:
    await publish(shop, "k")
    with pytest.raises(Unprocessable, match="idempotency_key_reused"):
        await publish(shop, "k", title="Another")


async def test_of_many_concurrent_requests_with_one_key_one_has_an_effect(shop: Shop) -> None:
    await shop.deps.blobs.ping()
    requests = [keyed("k", "same") for _ in range(50)]  # each with its own register, as in 50 processes
    ended = await asyncio.gather(
        *(submit_work(shop.deps, ACME, Body(submission(), 0), request) for request in requests), return_exceptions=True
    )
    effects = [each[0] for each in ended if isinstance(each, tuple)]
    assert len({effect.resource_id for effect in effects}) == 1
    assert [effect.replayed for effect in effects].count(False) == 1
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


async def test_a_work_whose_metrics_are_no_longer_known_is_still_repeated(shop: Shop) -> None:
    effect, _ = await publish(shop, "k")
    later = replace(shop.deps, check=lambda _: Checked(None))
    body = submission()
    again, work = await submit_work(later, ACME, Body(body, 0), keyed("k", sha256_hex(canonical_bytes(body))))
    assert (again, type(work), work.work_id) == (Effect(effect.resource_id, True), Work, effect.resource_id)


async def test_lost_evaluation_data_are_not_taken_for_a_work_that_is_not_there(shop: Shop) -> None:
    effect, _ = await publish(shop)
    without = replace(shop.deps, blobs=open_blobs("memory:"))
    with pytest.raises(EvaluationLost):
        await get_work(without, ACME, effect.resource_id)
    assert (await get_work(without, BOT, effect.resource_id)).work_id == effect.resource_id
