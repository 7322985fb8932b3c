"""How much raw data one examination reads."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aex_models.artifacts import MAX_UPLOAD_BYTES

if TYPE_CHECKING:
    from aex_outcomes.config import SandboxConfig

_BESIDE_DATA_MB = 384
"""Of a worker's memory, what is left to its end: one that dies tells nothing."""
_READING_SHARE = 1 / 4
"""Of a worker's time by the clock, what the files of one owner may take of the processor. The files of both leave half
of it: a machine that does something else, too, ends nobody's examination."""


@dataclass(frozen=True, slots=True)
class DataLimits:
    """Caps of one examination; a file beyond one of them is refused with a code that says which.

    `memory_mb` is what the database may take, and it answers `out_of_memory` then; a confined worker has 300 MB more,
    since it dies where its own bound is reached. `cpu_seconds` counts the processor's time, not the clock's: a busy
    machine makes nobody's data too large.
    """

    max_bytes: int = MAX_UPLOAD_BYTES
    """Of one file."""
    max_rows: int = 5_000_000
    max_columns: int = 1_000
    max_line: int = 1 << 20
    """Characters of one line of a text file."""
    max_name: int = 300
    """Characters of a column's name."""
    memory_mb: int = 640
    cpu_seconds: float = 30.0
    """For all files of one owner: the agent's cannot use up what the consumer's need."""

    @classmethod
    def within(cls, bounds: "SandboxConfig") -> "DataLimits":
        """What reading keeps to by itself in a worker with these bounds: it then tells what was too much."""
        memory_mb = max(bounds.memory_limit_mb - _BESIDE_DATA_MB, bounds.memory_limit_mb // 2)
        return cls(memory_mb=memory_mb, cpu_seconds=bounds.timeout_ms / 1_000 * _READING_SHARE)
