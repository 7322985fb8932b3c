"""What one worker process may use, and what it is told at its start."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Confinement:
    """The bounds of one worker process.

    `memory_mb`: address space on top of what the worker uses once it is warm. `open_files`: file descriptors.
    `nice`: how far it yields to the service. `network`: whether it may open sockets; for trusted code alone (an
    operator's verifier), never for what was uploaded. `children`: whether it may start processes, which inherit all its
    bounds, and may narrow its own; for trusted code, and for the sandbox, whose interpreter is such a process.
    """

    memory_mb: int = 512
    open_files: int = 64
    nice: int = 5
    network: bool = False
    children: bool = False


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message to a worker: which jobs it serves, what it imports before, and its bounds.

    `retire_above_mb`: resident memory, on top of the warm worker's, above which it asks to be replaced.
    """

    jobs: tuple[str, ...]
    warm: tuple[str, ...]
    confinement: Confinement
    retire_above_mb: int

    @classmethod
    def from_json(cls, message: dict[str, Any]) -> "Setup":
        """Read what `dataclasses.asdict` wrote."""
        return cls(
            jobs=tuple(message["jobs"]),
            warm=tuple(message["warm"]),
            confinement=Confinement(**message["confinement"]),
            retire_above_mb=message["retire_above_mb"],
        )
