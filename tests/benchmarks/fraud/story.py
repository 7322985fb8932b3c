"""What an example is: a small story of attempts, at the end of which stands one that is honest or is not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aex_models.criteria import SuccessCriteria
from aex_models.governance import Party, ScienceFindings, Severity

HONEST = "honest"


@dataclass(frozen=True, slots=True)
class Label:
    """What is known about an attempt because it was made so."""

    subject: str
    """The rule that has to be raised, or the kind of honest work."""
    variant: str
    severity: Severity | None = None
    """Of the flag that has to be raised; None for honest work, where none may be."""

    @property
    def is_fraud(self) -> bool:
        """Whether a flag is due."""
        return self.severity is not None


@dataclass(frozen=True, slots=True)
class Work:
    """What was asked for, and what it is judged by."""

    work_id: str
    consumer: Party
    domain: str
    criteria: SuccessCriteria | None = None
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    """The work's own input, which the agent sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One candidate, as it is posted."""

    agent: Party
    work: Work
    output: Any
    minutes: float = 0.0
    """After the story's first."""
    label: Label | None = None
    """None for what only has to have happened before."""
    again: bool = False
    """Whether it is the candidate before it once more, under the same contract: a retry."""
    earlier: Sequence[Any] = ()
    """Outputs that were judged before this one, under the same contract."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    platform_latency_ms: float | None = None
    measured: Mapping[str, bool | float | None] = field(default_factory=dict)
    """Metrics beside those that the engine extracts here: of custom code, of rollouts; None where not finite."""
    claimed: Mapping[str, bool | float] = field(default_factory=dict)
    science: ScienceFindings | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """Attempts in the order in which they are posted."""

    key: str
    """`seed/subject/number`: enough to make it again."""
    attempts: Sequence[Attempt]

    def labelled(self) -> Iterator[tuple[str, Label]]:
        """Attempt id and label of what is counted."""
        for place, attempt in enumerate(self.attempts):
            if attempt.label is not None:
                yield self.attempt_id(place), attempt.label

    def attempt_id(self, place: int) -> str:
        """The id of the attempt at this place."""
        return f"att_{self.key.replace('/', '_')}_{place}"
