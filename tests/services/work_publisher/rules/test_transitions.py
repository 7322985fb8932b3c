from decimal import Decimal

import pytest
from hypothesis import given as using
from hypothesis import strategies as st

from aex_models.work import Problem, WorkStatus
from aex_runtime.errors import Conflict, Forbidden, InvalidRequest
from aex_work_publisher.rules.awarding import award_of, awarded_contract
from aex_work_publisher.rules.records import WorkCheck, WorkRecord
from aex_work_publisher.rules.transitions import (
    NotAwardedYet,
    OtherContract,
    awarded,
    cancelled,
    check_claimable,
    check_price,
    checked,
    completed,
    contract_cancelled,
)
from tests.services.work_publisher.samples import CONTRACT_ID, NOW, REF, WORK_ID, given, record

AWARD = award_of(record(), CONTRACT_ID, "bot", Decimal("0.75"), Decimal("0.1"), NOW)
FOUND = WorkCheck(problems=(Problem(path="/evaluation/custom_metrics", code="too_slow", message="too slow"),))
UNAWARDED = [WorkStatus.CHECKING, WorkStatus.REFUSED, WorkStatus.OPEN]


def test_an_open_work_is_given_away_once() -> None:
    work = awarded(record(), AWARD)
    assert (work.status, work.contract_id, work.agent_id) == (WorkStatus.AWARDED, CONTRACT_ID, "bot")
    with pytest.raises(Conflict):
        awarded(work, AWARD)


@pytest.mark.parametrize("status", [each for each in WorkStatus if each is not WorkStatus.OPEN])
def test_only_an_open_work_is_given_away(status: WorkStatus) -> None:
    with pytest.raises(Conflict, match="work_not_open") as refused:
        awarded(record(status), AWARD)
    assert status.value in refused.value.message
    assert (refused.value.retry_after_s is not None) is (status is WorkStatus.CHECKING)


@using(st.integers(0, 2_000_000))
def test_a_rate_up_to_max_cpc_is_taken(micros: int) -> None:
    rate = Decimal(micros) / 1_000_000
    if rate <= 1:
        check_price(record(), rate)
    else:
        with pytest.raises(InvalidRequest) as refused:
            check_price(record(), rate)
        assert refused.value.errors[0].path == "/cpc_rate"


def test_a_micro_more_than_max_cpc_is_refused_with_what_may_be_paid() -> None:
    check_price(record(), Decimal(1))
    with pytest.raises(InvalidRequest) as refused:
        check_price(record(), Decimal("1.000001"))
    assert [(each.path, each.code) for each in refused.value.errors] == [("/cpc_rate", "cpc_rate_above_max")]
    assert "max_cpc of 1" in refused.value.message


def test_claims_are_for_works_that_allow_them() -> None:
    check_claimable(record(allow_claims=True))
    with pytest.raises(Forbidden):
        check_claimable(record(allow_claims=False))


@pytest.mark.parametrize("status", [WorkStatus.CHECKING, WorkStatus.OPEN, WorkStatus.CANCELLED])
def test_a_work_can_be_cancelled_until_it_is_awarded(status: WorkStatus) -> None:
    assert cancelled(record(status)).status is WorkStatus.CANCELLED


@pytest.mark.parametrize("work", [given(), given(WorkStatus.COMPLETED), record(WorkStatus.REFUSED)])
def test_an_awarded_or_refused_work_cannot_be_cancelled(work: WorkRecord) -> None:
    with pytest.raises(Conflict, match="work_not_cancellable"):
        cancelled(work)


def test_a_check_opens_or_refuses_a_work_that_is_being_checked() -> None:
    assert checked(record(WorkStatus.CHECKING), ok=True, check=FOUND).status is WorkStatus.OPEN
    assert checked(record(WorkStatus.CHECKING), ok=False, check=FOUND).status is WorkStatus.REFUSED


def test_the_first_check_stands() -> None:
    work = checked(record(WorkStatus.CHECKING), ok=False, check=FOUND)
    assert checked(work, ok=True, check=WorkCheck()) is work


@pytest.mark.parametrize("ok", [True, False])
@pytest.mark.parametrize("status", [each for each in WorkStatus if each is not WorkStatus.CHECKING])
def test_a_check_that_comes_late_or_again_changes_nothing(status: WorkStatus, ok: bool) -> None:
    work = record(status)
    assert checked(work, ok, WorkCheck()) is work


def test_the_end_of_its_contract_ends_the_work() -> None:
    assert completed(given(), CONTRACT_ID).status is WorkStatus.COMPLETED
    assert contract_cancelled(given(), CONTRACT_ID).status is WorkStatus.CANCELLED


@pytest.mark.parametrize("end", [completed, contract_cancelled])
@pytest.mark.parametrize("status", [WorkStatus.COMPLETED, WorkStatus.CANCELLED])
def test_the_first_end_stands(end: object, status: WorkStatus) -> None:
    work = given(status)
    assert end(work, CONTRACT_ID) is work  # type: ignore[operator]


@pytest.mark.parametrize("end", [completed, contract_cancelled])
def test_another_contract_s_end_is_refused(end: object) -> None:
    with pytest.raises(OtherContract):
        end(given(), "ctr_other")  # type: ignore[operator]


@pytest.mark.parametrize("end", [completed, contract_cancelled])
@pytest.mark.parametrize("status", UNAWARDED)
def test_an_end_before_the_award_waits_for_it(end: object, status: WorkStatus) -> None:
    with pytest.raises(NotAwardedYet):
        end(record(status), CONTRACT_ID)  # type: ignore[operator]


def test_an_award_freezes_the_terms() -> None:
    assert AWARD.model_dump(mode="json") == {
        "contract_id": CONTRACT_ID,
        "work_id": WORK_ID,
        "consumer": {"id": "acme", "org": "acme-org"},
        "agent_id": "bot",
        "cpc_rate": "0.75",
        "terms": {
            "cpc_rate": "0.75",
            "max_cpa_total": "2.00",
            "max_penalty_total": None,
            "base_policy": "on_success",
            "currency": "USD",
            "fee_rate": "0.10",
        },
        "deadline": "2026-01-08T12:00:00Z",
        "awarded_at": "2026-01-01T12:00:00Z",
    }


def test_the_deadline_is_the_work_s_own() -> None:
    work = record(verification={"deadline_s": 90})
    award = award_of(work, CONTRACT_ID, "bot", Decimal(0), Decimal(0), NOW)
    assert (award.deadline - award.awarded_at).total_seconds() == 90


@pytest.mark.parametrize("status", [WorkStatus.AWARDED, WorkStatus.COMPLETED, WorkStatus.CANCELLED])
def test_what_an_award_carried_is_the_same_for_ever(status: WorkStatus) -> None:
    carried = awarded_contract(given(status), AWARD)
    assert carried == awarded_contract(given(), AWARD)
    assert carried.work.status is WorkStatus.AWARDED
    assert (carried.terms, carried.evaluation) == (AWARD.terms, REF)
