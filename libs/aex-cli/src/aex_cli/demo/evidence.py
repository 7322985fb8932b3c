"""What the services' logs say of a demo that went wrong."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aex_cli.suite.child import Launch
from aex_cli.suite.service_spec import ServiceSpec

_SHOWN = 5
_USUAL = ('"level":"info"', '"level":"debug"')


def log_ends(specs: Sequence[ServiceSpec], launch: Launch) -> dict[Path, int]:
    """How many bytes each service's log has now."""
    logs = [launch.log_of(spec) for spec in specs]
    return {log: log.stat().st_size if log.exists() else 0 for log in logs}


def evidence(ends: Mapping[Path, int]) -> str:
    """The last lines that each service has logged since then: warnings and errors, or what there is without any."""
    return "\n".join(f"{log}:\n{_telling(log, end)}" for log, end in ends.items() if log.exists())


def _telling(log: Path, end: int) -> str:
    lines = log.read_bytes()[end:].decode(errors="replace").splitlines()
    unusual = [line for line in lines if not any(level in line for level in _USUAL)]
    return "\n".join((unusual or lines)[-_SHOWN:])
