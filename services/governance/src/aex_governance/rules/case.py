"""All that a rule may look at: what verification tells, and what governance remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aex_governance.rules.histogram import Histogram
from aex_governance.rules.sighting import Sighting
from aex_governance.rules.text import FreeText
from aex_models.governance import ValidationRequest


@dataclass(frozen=True, slots=True)
class Likeness:
    """An output seen before that is nearly this one."""

    sighting: Sighting
    similarity: float
    """Estimated Jaccard similarity of the two texts' shingles, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How many outcomes came before this one within the window of the rule `velocity`, this one not counted."""

    agent: int = 0
    """The agent's, for anybody."""
    pair: int = 0
    """The agent's for this consumer."""


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt, with the history that rules about it need. Outputs seen before may be of its own contract."""

    request: ValidationRequest
    text: FreeText | None = None
    """The output's text, read; None where it has none."""
    copies: tuple[Sighting, ...] = ()
    """Outputs with the same hash."""
    likenesses: tuple[Likeness, ...] = ()
    """Nearly the same texts, the most similar first."""
    own: Mapping[str, Histogram] = field(default_factory=dict)
    """By metric: what the agent's allowed outcomes had in this domain."""
    domain: Mapping[str, Histogram] = field(default_factory=dict)
    """By metric: what everybody's allowed outcomes had in this domain."""
    pace: Pace = Pace()
