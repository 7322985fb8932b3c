"""What work-publisher keeps of a work."""

from pydantic import model_validator

from aex_models.frozen import Frozen
from aex_models.governance import Party
from aex_models.work import EvaluationRef, LintWarning, Problem, Work, WorkStatus


class WorkCheck(Frozen):
    """What verification found when it tried a work: for the work's consumer alone."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[LintWarning, ...] = ()


class WorkRecord(Frozen):
    """A work without its secrets, with who owns it, who has it, and where its evaluation data lie."""

    work: Work
    """Never with evaluation data, and with no secret of its science: those lie in the evaluation blob alone."""
    consumer: Party
    evaluation: EvaluationRef | None = None
    check: WorkCheck | None = None
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
        """Where the work stands."""
        return self.work.status
