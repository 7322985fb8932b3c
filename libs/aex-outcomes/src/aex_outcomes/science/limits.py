"""How much raw data one examination reads."""

from dataclasses import dataclass

from aex_models.artifacts import MAX_UPLOAD_BYTES


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
    cpu_seconds: float = 40.0
    """Of a whole examination, all of its files together."""
