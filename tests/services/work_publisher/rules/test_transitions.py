from decimal import Decimal

import pytest

from aex_models.work import Problem, WorkStatus
from aex_runtime.errors import Conflict, Forbidden, InvalidRequest
from aex_work_publisher.rules.publication import build_award, build_awarded_event
from aex_work_publisher.rules.records import StoredCheck, WorkRecord
from aex_work_publisher.rules.transitions import (
    NotAwardedYet,
    OtherContract,
    apply_award,
    apply_cancellation,
    apply_check,
    apply_contract_end,
    require_claims_allowed,
    require_rate_within_max,
)
from tests.services.work_publisher.samples import CONTRACT_ID, NOW, REF, WORK_ID, given, record

AWARD = build_award(record(), CONTRACT_ID, "bot", Decimal("0.75"), Decimal("0.1"), NOW)
FOUND = StoredCheck(problems=(Problem(path="/evaluation/custom_metrics", code="too_slow", message="too slow"),))
ENDS = [WorkStatus.COMPLETED, WorkStatus.CANCELLED]


def test_open_work_is_awarded() -> None:
    work = apply_award(record(), AWARD)
    assert (work.status, work.contract_id, work.agent_id) == (WorkStatus.AWARDED, CONTRACT_ID, "bot")


@pytest.mark.parametrize("status", [each for each in WorkStatus if each is not WorkStatus.OPEN])
def test_work_of_another_status_is_not_awarded(status: WorkStatus) -> None:
    with pytest.raises(Conflict, match="work_not_open") as refused:
        apply_award(record(status), AWARD)
    assert status.value in refused.value.message
    assert (refused.value.retry_after_s is not None) is (status is WorkStatus.CHECKING)


def test_rate_above_max_cpc_is_refused() -> None:
    require_rate_within_max(record(), Decimal(0))
    require_rate_within_max(record(), Decimal(1))
    with pytest.raises(InvalidRequest) as refused:
        require_rate_within_max(record(), Decimal("1.000001"))
    assert [(each.path, each.code) for each in refused.value.errors] == [("/cpc_rate", "cpc_rate_above_max")]
    assert "max_cpc of 1" in refused.value.message


def test_claim_needs_a_work_that_allows_claims() -> None:
    require_claims_allowed(record(allow_claims=True))
    with pytest.raises(Forbidden):
        require_claims_allowed(record(allow_claims=False))


@pytest.mark.parametrize("status", [WorkStatus.CHECKING, WorkStatus.OPEN, WorkStatus.CANCELLED])
def test_unawarded_work_can_be_cancelled(status: WorkStatus) -> None:
    assert apply_cancellation(record(status)).status is WorkStatus.CANCELLED


@pytest.mark.parametrize("work", [given(), given(WorkStatus.COMPLETED), record(WorkStatus.REFUSED)])
def test_awarded_or_refused_work_cannot_be_cancelled(work: WorkRecord) -> None:
    with pytest.raises(Conflict, match="work_not_cancellable"):
        apply_cancellation(work)


def test_first_check_opens_or_refuses_a_work() -> None:
    assert apply_check(record(WorkStatus.CHECKING), ok=True, check=FOUND).status is WorkStatus.OPEN
    work = apply_check(record(WorkStatus.CHECKING), ok=False, check=FOUND)
    assert work.status is WorkStatus.REFUSED
    assert apply_check(work, ok=True, check=StoredCheck()) is work


@pytest.mark.parametrize("ok", [True, False])
@pytest.mark.parametrize("status", [each for each in WorkStatus if each is not WorkStatus.CHECKING])
def test_late_check_changes_nothing(status: WorkStatus, ok: bool) -> None:
    work = record(status)
    assert apply_check(work, ok, StoredCheck()) is work


@pytest.mark.parametrize("status", ENDS)
def test_first_end_of_its_contract_ends_the_work(status: WorkStatus) -> None:
    ended = apply_contract_end(given(), CONTRACT_ID, status)
    assert ended.status is status
    assert all(apply_contract_end(ended, CONTRACT_ID, later) is ended for later in ENDS)


def test_end_of_another_contract_or_before_the_award_is_refused() -> None:
    for end in ENDS:
        with pytest.raises(OtherContract):
            apply_contract_end(given(), "ctr_other", end)
    for status in (WorkStatus.CHECKING, WorkStatus.REFUSED, WorkStatus.OPEN):
        with pytest.raises(NotAwardedYet):
            apply_contract_end(record(status), CONTRACT_ID, WorkStatus.COMPLETED)


def test_award_freezes_the_terms() -> None:
    terms = {
        **{"cpc_rate": "0.75", "max_cpa_total": "2.00", "max_penalty_total": None},
        **{"base_policy": "on_success", "currency": "USD", "fee_rate": "0.10"},
    }
    assert AWARD.model_dump(mode="json") == {
        **{"contract_id": CONTRACT_ID, "work_id": WORK_ID, "agent_id": "bot"},
        **{"consumer": {"id": "acme", "org": "acme-org"}, "cpc_rate": "0.75", "terms": terms},
        **{"deadline": "2026-01-08T12:00:00Z", "awarded_at": "2026-01-01T12:00:00Z"},
    }


def test_award_has_the_deadline_of_its_work() -> None:
    work = record(verification={"deadline_s": 90})
    award = build_award(work, CONTRACT_ID, "bot", Decimal(0), Decimal(0), NOW)
    assert (award.deadline - award.awarded_at).total_seconds() == 90


@pytest.mark.parametrize("status", [WorkStatus.AWARDED, WorkStatus.COMPLETED, WorkStatus.CANCELLED])
def test_event_of_an_award_stays_equal(status: WorkStatus) -> None:
    event = build_awarded_event(given(status), AWARD)
    assert event == build_awarded_event(given(), AWARD)
    assert (event.work.status, event.terms, event.evaluation) == (WorkStatus.AWARDED, AWARD.terms, REF)
