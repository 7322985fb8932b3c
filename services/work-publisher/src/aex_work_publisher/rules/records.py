"""Stored records of works, and which works a caller may see."""

from collections.abc import Mapping

from pydantic import model_validator

from aex_models.audiences import Audience
from aex_models.frozen import Frozen
from aex_models.governance import Party
from aex_models.work import EvaluationRef, LintWarning, Problem, Work, WorkStatus
from aex_runtime.identity.principals import Principal


class StoredCheck(Frozen):
    """Problems and warnings that verification found in a work. Only the work's consumer reads them."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()


class WorkRecord(Frozen):
    """Stored work with its consumer and, after an award, its contract and agent."""

    work: Work
    """Work without evaluation data and without secret science, which are only in the evaluation blob."""
    consumer: Party
    evaluation: EvaluationRef | None = None
    check: StoredCheck | None = None
    """Result of verification's check. It is not part of the work because only the consumer sees it."""
    contract_id: str | None = None
    agent_id: str | None = None
    traceparent: str | None = None
    """W3C trace context of the award, in which the contract's trace starts."""

    @model_validator(mode="after")
    def _without_secrets(self) -> "WorkRecord":
        science = self.work.science
        if self.work.evaluation is not None or (science is not None and science != science.without_secrets()):
            raise ValueError("evaluation data belong into their blob")
        return self

    @property
    def status(self) -> WorkStatus:
        """Return the status of the work."""
        return self.work.status


def may_see(record: WorkRecord, reader: Principal) -> bool:
    """Return whether `reader` may see the work.

    A consumer sees its own works. An agent sees open works and those awarded to it. Other roles see none.
    """
    if reader.role is Audience.CONSUMER:
        return record.consumer.id == reader.id
    if reader.role is Audience.AGENT:
        return record.status is WorkStatus.OPEN or record.agent_id == reader.id
    return False


def visible_index_filters(reader: Principal, status: WorkStatus | None) -> tuple[Mapping[str, str], ...]:
    """Return the queries of the works that `reader` may list, each as index fields with their values.

    No work matches two of the queries. If `status` is None, any status matches.
    """
    if reader.role is Audience.CONSUMER:
        own = {"consumer_id": reader.id}
        return (own if status is None else {**own, "status": status.value},)
    if reader.role is not Audience.AGENT:
        return ()
    opened, awarded = {"status": WorkStatus.OPEN.value}, {"agent_id": reader.id}
    if status is None:
        return (opened, awarded)
    return (opened,) if status is WorkStatus.OPEN else ({**awarded, "status": status.value},)
