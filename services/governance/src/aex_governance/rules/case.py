"""Interface of the fraud rules: the case that a rule checks, and the rule itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aex_governance.rules.histogram import Histogram
from aex_governance.rules.projection_documents import Sighting
from aex_governance.text.free_text import FreeText
from aex_models.frozen import Frozen, StrictBool
from aex_models.governance import Action, Flag, Severity, ValidationRequest

Thresholds = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NearCopy:
    """An earlier output that is similar to the present one."""

    sighting: Sighting
    similarity: float
    """Estimated Jaccard similarity of the two texts' shingles, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class RecentCounts:
    """Numbers of earlier outcomes within the window of the rule `velocity`."""

    agent: int = 0
    """The agent's, for any consumer."""
    pair: int = 0
    """The agent's for this consumer."""


@dataclass(frozen=True, slots=True)
class RuleCase:
    """An attempt with the history that rules need. Earlier outputs may be of its own contract."""

    request: ValidationRequest
    text: FreeText | None = None
    """Main text of the output; None if there is none."""
    copies: tuple[Sighting, ...] = ()
    """Outputs with the same hash."""
    near_copies: tuple[NearCopy, ...] = ()
    """The most similar first."""
    own: Mapping[str, Histogram] = field(default_factory=dict)
    """By metric: values of the agent's allowed outcomes in this domain."""
    domain: Mapping[str, Histogram] = field(default_factory=dict)
    """By metric: values of all agents' allowed outcomes in this domain."""
    recent: RecentCounts = RecentCounts()


class RuleConfig(Frozen):
    """Switch and thresholds of one rule."""

    enabled: StrictBool = True
    thresholds: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class FraudRule:
    """A named check, with the action for each severity."""

    name: str
    description: str
    check: Callable[[RuleCase, Thresholds], Flag | None]
    actions: Mapping[Severity, Action]
    threshold_notes: Mapping[str, str]
    """Meaning and unit of each threshold in `thresholds.yaml`."""
    reads_history: bool = False
    """True if it reads more of a case than the request and its text."""
    threshold_minima: Mapping[str, float] = field(default_factory=dict)
    """Thresholds below have no effect."""
    threshold_maxima: Mapping[str, float] = field(default_factory=dict)
    """Thresholds above have no effect."""
