"""How much is measured."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Size:
    """`rounds` in turns, each `seconds` long where it has no length of its own; `settlements` in the large books.

    `keep`: where books are made for the next time, or found from the last.
    """

    rounds: int = 5
    seconds: float = 3.0
    settlements: int = 1_000_000
    keep: Path | None = None
