"""Conversion of a submission to its records and events, and of a work to its award."""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from aex_models.contract import Award, Terms
from aex_models.evaluation import Evaluation
from aex_models.events import ContractAwarded, WorkSubmitted
from aex_models.governance import Party
from aex_models.work import CheckedWork, EvaluationBlob, EvaluationRef, Work, WorkStatus, WorkSubmission
from aex_work_publisher.rules.records import WorkRecord


def build_evaluation_blob(submission: WorkSubmission, salt: Callable[[], str]) -> EvaluationBlob | None:
    """Return the secrets of a submission for their blob; None if it has none.

    With custom code, or criteria and a reference, the blob also holds input and criteria, for verification's trial.
    """
    if submission.evaluation is None and submission.science is None:
        return None
    blob = EvaluationBlob(salt=salt(), evaluation=submission.evaluation, science=submission.science)
    if not _is_tried(submission):
        return blob
    # Beside the secrets, so that no event has to carry them before there is an award.
    return blob.model_copy(update={"input": submission.input, "success_criteria": submission.success_criteria})


def build_work_record(
    submission: WorkSubmission, work_id: str, consumer: Party, evaluation: EvaluationRef | None, now: datetime
) -> WorkRecord:
    """Return the record of a new work: open, or `checking` until its custom code has been tried."""
    checking = _has_code(submission.evaluation)
    work = Work(
        work_id=work_id,
        consumer_id=consumer.id,
        title=submission.title,
        description=submission.description,
        domain=submission.domain,
        input=submission.input,
        success_criteria=submission.success_criteria,
        budget=submission.budget,
        verification=submission.verification,
        science=submission.science.without_secrets() if submission.science else None,
        allow_claims=submission.allow_claims,
        status=WorkStatus.CHECKING if checking else WorkStatus.OPEN,
        created_at=now,
    )
    return WorkRecord(work=work, consumer=consumer, evaluation=evaluation)


def with_secrets(record: WorkRecord, secrets: WorkSubmission | EvaluationBlob) -> Work:
    """Return the work for its consumer: with evaluation data, secret science and findings of its check."""
    work = record.work.model_copy(update={"evaluation": secrets.evaluation, "science": secrets.science})
    if record.check is None:
        return work
    fields = {name: getattr(work, name) for name in Work.model_fields}
    return CheckedWork(**fields, problems=record.check.problems, warnings=record.check.warnings)


def build_submitted_event(record: WorkRecord) -> WorkSubmitted:
    """Return the data of the event `work.submitted`."""
    return WorkSubmitted(
        work_id=record.work.work_id,
        has_cpa=record.work.success_criteria is not None,
        consumer_id=record.consumer.id,
        domain=record.work.domain,
        evaluation=record.evaluation,
        custom_metrics=record.status is WorkStatus.CHECKING,
    )


def rebuild_submission_body(work: Work) -> dict[str, Any]:
    """Return the body of a submission that would publish this work, to check and price it a second time.

    `work` must include its secrets.
    """
    return work.model_dump(mode="json", include=set(WorkSubmission.model_fields), exclude_none=True)


def _is_tried(submission: WorkSubmission) -> bool:
    """Return whether verification runs the code of the work's evaluation data, or scores its reference."""
    evaluation = submission.evaluation
    judged = submission.success_criteria is not None
    return _has_code(evaluation) or (judged and evaluation is not None and evaluation.reference is not None)


def _has_code(evaluation: Evaluation | None) -> bool:
    return evaluation is not None and evaluation.has_code


def build_award(
    record: WorkRecord, contract_id: str, agent_id: str, cpc_rate: Decimal, fee_rate: Decimal, now: datetime
) -> Award:
    """Return the award of a work to an agent, with the work's terms at this rate.

    The deadline counts from `now`.
    """
    return Award(
        contract_id=contract_id,
        work_id=record.work.work_id,
        consumer=record.consumer,
        agent_id=agent_id,
        cpc_rate=cpc_rate,
        terms=Terms.from_budget(record.work.budget, cpc_rate, fee_rate),
        deadline=now + timedelta(seconds=record.work.verification.deadline_s),
        awarded_at=now,
    )


def build_awarded_event(record: WorkRecord, award: Award) -> ContractAwarded:
    """Return the data of the event `contract.awarded`; its work has the status `awarded`."""
    return ContractAwarded(
        award=award,
        work=record.work.model_copy(update={"status": WorkStatus.AWARDED}),
        terms=award.terms,
        evaluation=record.evaluation,
    )
