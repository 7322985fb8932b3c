"""An output's text as the rules about likeness read it."""

from dataclasses import dataclass

from aex_governance.rules.sketch import Sketch


@dataclass(frozen=True, slots=True)
class FreeText:
    """What was read of a text."""

    tokens: int
    """Words, in scripts without spaces characters."""
    is_free: bool
    """Whether it is prose long enough to tell copies from coincidence: equal labels and short answers are not."""
    sketch: Sketch | None
    """None where it is not free text."""
