"""Thresholds above 256 bytes: settlement keeps the criteria once, and every answer has them."""

from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.large_thresholds import omit_large_thresholds
from aex_models.results import VerificationResult
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_runtime.store.port import key_of
from aex_settlement.repository.ledger import SETTLEMENTS
from tests.libs.models.results import a_criterion, a_result
from tests.services.settlement.audit.ledgers import audit
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE
from tests.services.settlement.outcomes import an_event, an_outcome
from tests.services.settlement.test_settle_outcome import receive

TERMS = [f"{name}-{'x' * 200}" for name in ("alpha", "beta")]
COMPARED = {"metric_type": MetricType.CONTAINS, "comparison": ComparisonOperator.CONTAINS_ALL, "threshold": TERMS}
SMALL = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}
CRITERIA = SuccessCriteria.model_validate({"criteria": [SMALL, {"metric": "contains_keywords", **COMPARED}]})


def judged(**changes: Any) -> VerificationResult:
    results = (
        a_criterion(criterion=0, bonus="0.50"),
        a_criterion("contains_keywords", criterion=1, **COMPARED),
    )
    return a_result(criterion_results=results, bonus="0.50", **changes)


def visible(cost: dict[str, Any]) -> list[tuple[int | None, Any]]:
    return [(line["criterion"], line["threshold"]) for line in cost["lines"]]


COMPLETE: list[tuple[int | None, Any]] = [(0, 0.4), (1, TERMS)]


async def test_records_and_events_have_none_and_every_answer_has_it_complete(counter: Counter) -> None:
    outcome = an_outcome(success_criteria=CRITERIA, verification_result=omit_large_thresholds(judged()))
    await receive(counter.ledger, an_event(outcome))
    for event in counter.ledger.events:
        assert visible(event.data["cost"]) == [(0, 0.4), (1, None)]
    for reader in (FINANCE, ACME, BOT):
        one = await counter.read(reader, "/v1/settlements/ctr_1")
        [listed] = (await counter.read(reader, "/v1/settlements"))["items"]
        for found in (one, listed):
            assert visible(found["cost"]) == visible(found["revisions"][0]["cost"]) == COMPLETE
            assert "success_criteria" not in found
        html = (await counter.ask(reader, "/dashboard/settlements/ctr_1")).text
        assert all(term in html for term in TERMS)
        assert (await counter.ask(reader, "/dashboard/settlements")).status_code == 200


async def test_a_correction_keeps_the_criteria_and_the_audit_passes(counter: Counter) -> None:
    outcome = an_outcome(success_criteria=CRITERIA, verification_result=omit_large_thresholds(judged()))
    await receive(counter.ledger, an_event(outcome))
    await receive(counter.ledger, an_event(outcome))
    replacement = {"base": "2.00", "bonus": "0.00", "penalty": "0.00"}
    answer = (await counter.reverse("ctr_1", replacement=replacement)).json()
    assert visible(answer["revisions"][0]["cost"]) == COMPLETE
    await counter.seal()
    assert (await audit(counter.ledger)).findings.total == 0
    assert TERMS[0] in (await counter.ask(FINANCE, "/dashboard/settlements/ctr_1")).text


async def test_criteria_are_kept_only_where_a_line_needs_them(counter: Counter) -> None:
    old = a_result(criterion_results=(a_criterion("contains_keywords", **COMPARED),))
    await counter.settle("ctr_1", success_criteria=CRITERIA, verification_result=old)
    kept = await SETTLEMENTS.get(counter.ledger.deps.store, key_of("ctr_1"))
    assert kept is not None
    assert kept.record.success_criteria is None
    found = await counter.read(FINANCE, "/v1/settlements/ctr_1")
    assert visible(found["cost"]) == [(None, TERMS)]
