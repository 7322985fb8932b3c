"""Interface of the fraud rules: the input of a rule (`RuleCase`) and the rule itself (`FraudRule`)."""

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
    """Earlier output whose text is similar to that of the attempt under validation."""

    sighting: Sighting
    similarity: float
    """Estimated Jaccard similarity of the two texts' shingles, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class RecentCounts:
    """Numbers of validated attempts within the time window of the rule `velocity`."""

    agent: int = 0
    """Attempts of the agent, for any consumer."""
    pair: int = 0
    """Attempts of the agent for this consumer."""


@dataclass(frozen=True, slots=True)
class RuleCase:
    """Attempt under validation, with the history that the rules need.

    Earlier outputs may belong to the same contract.
    """

    request: ValidationRequest
    text: FreeText | None = None
    """Main text of the output; None if it has none."""
    copies: tuple[Sighting, ...] = ()
    """Earlier outputs with the same hash."""
    near_copies: tuple[NearCopy, ...] = ()
    """Earlier outputs with a similar text, the most similar first."""
    own: Mapping[str, Histogram] = field(default_factory=dict)
    """Values in the agent's allowed attempts of this domain, by metric."""
    domain: Mapping[str, Histogram] = field(default_factory=dict)
    """Values in all agents' allowed attempts of this domain, by metric."""
    recent: RecentCounts = RecentCounts()


class RuleConfig(Frozen):
    """Configuration of one rule: whether it is enabled, and its thresholds by name."""

    enabled: StrictBool = True
    thresholds: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class FraudRule:
    """Fraud rule: a named check, and the action that follows from each severity of its flag."""

    name: str
    description: str
    check: Callable[[RuleCase, Thresholds], Flag | None]
    actions: Mapping[Severity, Action]
    threshold_notes: Mapping[str, str]
    """Meaning and unit of each threshold in `thresholds.yaml`."""
    reads_history: bool = False
    """True if the check reads more of a case than the request and its text."""
    threshold_minima: Mapping[str, float] = field(default_factory=dict)
    """Lowest useful value by threshold; a lower one is refused."""
    threshold_maxima: Mapping[str, float] = field(default_factory=dict)
    """Highest useful value by threshold; a higher one is refused."""
