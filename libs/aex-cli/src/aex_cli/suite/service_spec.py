"""Which services the suite runs. By name: the command line imports none of them."""

from collections.abc import Sequence
from dataclasses import dataclass

HOST = "127.0.0.1"
"""Everything embedded binds to loopback."""

MODULES = {
    "work-publisher": "aex_work_publisher",
    "verification": "aex_verification",
    "governance": "aex_governance",
    "settlement": "aex_settlement",
}
"""Service names and the modules that `python -m` starts, in the order of their ports."""

MAX_REPLICAS = 9


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One process of the suite: its service's name, the module to run, its port, and which replica it is, from 1."""

    name: str
    module: str
    port: int
    host: str = HOST
    replica: int = 1

    @property
    def label(self) -> str:
        """What this process is called: `settlement` for the first of a service, `settlement-2` for the second."""
        return self.name if self.replica == 1 else f"{self.name}-{self.replica}"

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.host}:{self.port}"

    @property
    def url_variable(self) -> str:
        """The environment variable that tells the other services this one's address."""
        return f"AEX_{self.name.upper().replace('-', '_')}_URL"


def default_suite(port_base: int, replicas: int = 1) -> tuple[ServiceSpec, ...]:
    """The four services on four consecutive ports, then the four of the next replica on the next four."""
    return tuple(
        ServiceSpec(name, module, port_base + len(MODULES) * (replica - 1) + place, replica=replica)
        for replica in range(1, replicas + 1)
        for place, (name, module) in enumerate(MODULES.items())
    )


def ready_line(specs: Sequence[ServiceSpec]) -> str:
    """The one line that tells a script that everything answers, and where."""
    return " ".join(["ready", *(f"{spec.label}={spec.url}" for spec in specs)])
