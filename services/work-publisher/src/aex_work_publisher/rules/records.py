"""The stored record of a work, and its visibility."""

from collections.abc import Mapping

from pydantic import model_validator

from aex_models.audiences import Audience
from aex_models.frozen import Frozen
from aex_models.governance import Party
from aex_models.work import EvaluationRef, LintWarning, Problem, Work, WorkStatus
from aex_runtime.identity.principals import Principal


class StoredCheck(Frozen):
    """Verification's findings about a work. Only the work's consumer reads them."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()


class WorkRecord(Frozen):
    """A work without its secrets, with who owns it, who has it, and where its evaluation data lie."""

    work: Work
    """Never with evaluation data, and with no secret of its science: those lie in the evaluation blob alone."""
    consumer: Party
    evaluation: EvaluationRef | None = None
    check: StoredCheck | None = None
    """Apart from the work, which others see too."""
    contract_id: str | None = None
    agent_id: str | None = None
    traceparent: str | None = None
    """W3C trace context of the award: where the contract's own trace begins."""

    @model_validator(mode="after")
    def _without_secrets(self) -> "WorkRecord":
        science = self.work.science
        if self.work.evaluation is not None or (science is not None and science != science.without_secrets()):
            raise ValueError("evaluation data belong into their blob")
        return self

    @property
    def status(self) -> WorkStatus:
        """The work's status."""
        return self.work.status


def may_see(record: WorkRecord, reader: Principal) -> bool:
    """Return whether `reader` may see the work: consumers their own, agents open ones and their own."""
    if reader.role is Audience.CONSUMER:
        return record.consumer.id == reader.id
    if reader.role is Audience.AGENT:
        return record.status is WorkStatus.OPEN or record.agent_id == reader.id
    return False


def visible_sets(reader: Principal, status: WorkStatus | None) -> tuple[Mapping[str, str], ...]:
    """Return the index fields of the works that `reader` may list, as disjoint sets."""
    if reader.role is Audience.CONSUMER:
        own = {"consumer_id": reader.id}
        return (own if status is None else {**own, "status": status.value},)
    if reader.role is not Audience.AGENT:
        return ()
    opened, awarded = {"status": WorkStatus.OPEN.value}, {"agent_id": reader.id}
    if status is None:
        return (opened, awarded)
    return (opened,) if status is WorkStatus.OPEN else ({**awarded, "status": status.value},)
