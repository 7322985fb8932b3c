from aex_models.canonical import canonical_bytes, sha256_hex
from aex_models.contract import AwardRequest
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.submit_work import Body, submit_work
from tests.parts.measured import Measured
from tests.services.work_publisher.kit import keyed, open_shop
from tests.services.work_publisher.samples import ACME, submission


async def test_repeats_of_a_key_are_counted_once() -> None:
    measured = Measured()
    shop = open_shop(measured)
    body = submission()
    digest = sha256_hex(canonical_bytes(body))
    expected = AwardRequest.model_validate({"agent_id": "bot", "cpc_rate": "0.75"})
    for _ in range(3):
        effect, _ = await submit_work(shop.deps, ACME, Body(body, 0), keyed("a", digest))
        await award_work(shop.deps, ACME, effect.resource_id, expected, keyed("b", "", "award"))
    assert measured.counted == {("aex_works_submitted_total",): 1, ("aex_contracts_awarded_total",): 1}
