"""Base URLs of the four services."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Service(StrEnum):
    """A service, by the name that its tokens and its settings use."""

    WORK_PUBLISHER = "work-publisher"
    VERIFICATION = "verification"
    GOVERNANCE = "governance"
    SETTLEMENT = "settlement"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The base URL of each service, without a slash at its end."""

    work_publisher: str
    verification: str
    governance: str
    settlement: str

    @classmethod
    def local(cls, port_base: int = 8081, host: str = "127.0.0.1") -> Self:
        """Return the embedded suite, as `aex up --port-base` starts it: four consecutive ports on one machine."""
        return cls(*(f"http://{host}:{port_base + place}" for place in range(4)))

    def url(self, service: Service, path: str) -> str:
        """Return the URL of a path of a service; `path` starts with a slash and is escaped already."""
        base: str = getattr(self, service.name.lower())
        return base.rstrip("/") + path
