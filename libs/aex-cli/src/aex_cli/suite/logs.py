"""The services' log files: appended to, one older generation kept, the end of a run shown when it fails."""

from pathlib import Path

KEEP_BYTES = 10 * 1024 * 1024
_TAIL_BYTES = 16_384


def begin_run(path: Path) -> int:
    """Set a large file aside; returns the byte at which the next run begins.

    A run never loses its own lines: the file changes name only between runs.
    """
    size = path.stat().st_size if path.exists() else 0
    if size > KEEP_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
        size = 0
    return size


def tail(path: Path, start: int, lines: int = 20) -> str:
    """The last lines of the run that began at byte `start`."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        end = log.seek(0, 2)
        log.seek(max(start, end - _TAIL_BYTES))
        text = log.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])
