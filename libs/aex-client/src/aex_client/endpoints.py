"""Base URLs of the four services."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Service(StrEnum):
    """A service of the platform, by its name in tokens and settings."""

    WORK_PUBLISHER = "work-publisher"
    VERIFICATION = "verification"
    GOVERNANCE = "governance"
    SETTLEMENT = "settlement"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The base URLs of the four services."""

    work_publisher: str
    verification: str
    governance: str
    settlement: str

    @classmethod
    def local(cls, port_base: int = 8081, host: str = "127.0.0.1") -> Self:
        """Return the URLs of a suite that `aex up --port-base` started: four consecutive ports of one host."""
        return cls(*(f"http://{host}:{port_base + place}" for place in range(4)))

    def url(self, service: Service, path: str) -> str:
        """Return the URL of a path at a service. `path` starts with a slash and is already escaped."""
        base: str = getattr(self, service.name.lower())
        return base.rstrip("/") + path
