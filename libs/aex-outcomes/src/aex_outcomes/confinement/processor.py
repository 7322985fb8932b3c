"""How much of the processor another process has used."""

import contextlib
import os
from pathlib import Path

_USER, _SYSTEM = 11, 12
"""Places in `/proc/PID/stat` behind the name, which may hold spaces and brackets."""


def cpu_seconds(pid: int) -> float | None:
    """Of all its threads, so far; None where there is no such process, or the system does not tell."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
    return None
