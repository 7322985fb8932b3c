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


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One service of the suite: its name, the module to run, and the port it listens on."""

    name: str
    module: str
    port: int
    host: str = HOST

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.host}:{self.port}"

    @property
    def url_variable(self) -> str:
        """The environment variable that tells the other services this one's address."""
        return f"AEX_{self.name.upper().replace('-', '_')}_URL"


def default_suite(port_base: int) -> tuple[ServiceSpec, ...]:
    """The four services on four consecutive ports."""
    return tuple(ServiceSpec(name, module, port_base + place) for place, (name, module) in enumerate(MODULES.items()))


def ready_line(specs: Sequence[ServiceSpec]) -> str:
    """The one line that tells a script that everything answers, and where."""
    return " ".join(["ready", *(f"{spec.name}={spec.url}" for spec in specs)])
