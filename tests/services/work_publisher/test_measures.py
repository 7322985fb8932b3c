"""Works are counted when they are published and when they are given away, once each."""

from dataclasses import replace

from aex_models.canonical import canonical_bytes, sha256_hex
from aex_models.contract import AwardRequest
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.check_work import Body
from aex_work_publisher.handlers.submit_work import submit_work
from tests.parts.measured import Measured
from tests.services.work_publisher.kit import Shop, keyed, open_shop
from tests.services.work_publisher.samples import ACME, submission


def measured_shop() -> tuple[Shop, Measured]:
    shop, measured = open_shop(), Measured()

    def committed(by: Committed) -> None:
        shop.events.extend(by.events)

    unit_of_work = UnitOfWork("work-publisher", shop.store, shop.clock, committed, measured)
    return replace(shop, deps=replace(shop.deps, unit_of_work=unit_of_work)), measured


async def test_repeats_under_one_key_are_one_work_and_one_contract() -> None:
    shop, measured = measured_shop()
    body = submission()
    digest = sha256_hex(canonical_bytes(body))
    wanted = AwardRequest.model_validate({"agent_id": "bot", "cpc_rate": "0.75"})
    for _ in range(3):
        effect, _ = await submit_work(shop.deps, ACME, Body(body, 0), keyed("a", digest))
        await award_work(shop.deps, ACME, effect.resource_id, wanted, keyed("b", "", "award"))
    assert measured.counted == {("aex_works_submitted_total",): 1, ("aex_contracts_awarded_total",): 1}
