"""What a rule is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_governance.rules.case import Case
from aex_models.governance import Action, Flag, Severity

Thresholds = Mapping[str, Any]
Check = Callable[[Case, Thresholds], Flag | None]


@dataclass(frozen=True, slots=True)
class FraudRule:
    """A named check, and what is done when it is raised at each severity."""

    name: str
    description: str
    check: Check
    actions: Mapping[Severity, Action]
    threshold_notes: Mapping[str, str]
    """What each of its thresholds means, with its unit: one entry for each in `thresholds.yaml`."""
    reads_history: bool = False
    """Whether it looks at more of a case than the request and its text."""
    threshold_minima: Mapping[str, float] = field(default_factory=dict)
    """The least that thresholds may be, where less would have no effect."""
    threshold_maxima: Mapping[str, float] = field(default_factory=dict)
    """The most, where more would have none."""
