"""What an award says."""

from datetime import datetime, timedelta
from decimal import Decimal

from aex_models.contract import Award, Terms
from aex_models.events import ContractAwarded
from aex_models.work import WorkStatus
from aex_work_publisher.rules.records import WorkRecord


def award_of(
    record: WorkRecord, contract_id: str, agent_id: str, cpc_rate: Decimal, fee_rate: Decimal, now: datetime
) -> Award:
    """The award of a work at a rate. All terms are frozen in it; the deadline counts from now."""
    return Award(
        contract_id=contract_id,
        work_id=record.work.work_id,
        consumer=record.consumer,
        agent_id=agent_id,
        cpc_rate=cpc_rate,
        terms=Terms.of(record.work.budget, cpc_rate, fee_rate),
        deadline=now + timedelta(seconds=record.work.verification.deadline_s),
        awarded_at=now,
    )


def awarded_contract(record: WorkRecord, award: Award) -> ContractAwarded:
    """What `contract.awarded` carries: the work as it stood when it was awarded, whatever became of it since."""
    return ContractAwarded(
        award=award,
        work=record.work.model_copy(update={"status": WorkStatus.AWARDED}),
        terms=award.terms,
        evaluation=record.evaluation,
    )
