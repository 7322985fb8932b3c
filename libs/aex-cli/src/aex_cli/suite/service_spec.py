"""The processes of the suite: their modules, ports and environments.

The command line starts the services as modules, and imports none of them.
"""

import errno
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aex_runtime.commandline import UserError

HOST = "127.0.0.1"
"""The embedded suite binds only to loopback."""

MODULES = {
    "work-publisher": "aex_work_publisher",
    "verification": "aex_verification",
    "governance": "aex_governance",
    "settlement": "aex_settlement",
}
"""Modules for `python -m` by service name, in the order of the ports."""

MAX_REPLICAS = 9
LAST_PORT = 65_535
LAST_BASE = LAST_PORT + 1 - len(MODULES)
INSTANCE = "AEX_INSTANCE"
_STEP = 100


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A process of the suite: its service, module, address and number of the replica, from 1."""

    name: str
    module: str
    port: int
    host: str = HOST
    replica: int = 1

    @property
    def label(self) -> str:
        """The name of the process: `settlement` for the first replica, `settlement-2` for the second."""
        return self.name if self.replica == 1 else f"{self.name}-{self.replica}"

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def url_variable(self) -> str:
        """The name of the environment variable with the service's URL."""
        return f"AEX_{self.name.upper().replace('-', '_')}_URL"


def plan_suite(port_base: int, replicas: int = 1) -> tuple[ServiceSpec, ...]:
    """Return the processes of a suite: the four services on consecutive ports, for each replica.

    Raises `UserError` for ports above 65535.
    """
    count = len(MODULES) * replicas
    if port_base + count - 1 > LAST_PORT:
        message = f"{count} ports from {port_base} on exceed the last port, {LAST_PORT}"
        raise UserError(message, "choose a lower --port-base")
    return tuple(
        ServiceSpec(name, module, port_base + len(MODULES) * (replica - 1) + offset, replica=replica)
        for replica in range(1, replicas + 1)
        for offset, (name, module) in enumerate(MODULES.items())
    )


def build_suite_environment(inherited: Mapping[str, str], data_dir: Path, config: Path | None) -> dict[str, str]:
    """Return the common environment of all processes: the inherited one, with data directory and config."""
    return {
        # Processes with the same name would take over each other's leases.
        **{name: value for name, value in inherited.items() if name != INSTANCE},
        "AEX_DATA_DIR": str(data_dir),
        **({"AEX_OUTCOME_CONFIG": str(config.resolve())} if config else {}),
        "PYTHONUNBUFFERED": "1",
    }


def build_process_environment(
    spec: ServiceSpec, specs: Sequence[ServiceSpec], common: Mapping[str, str]
) -> dict[str, str]:
    """Return `common` with the address of one process, the URLs of services and an instance name.

    The URLs are those of the same replica. An instance name is set only for a store in the data directory. The
    directory's lock makes the name unique. Several suites may share another store.
    """
    return {
        **common,
        "AEX_HOST": spec.host,
        "AEX_PORT": str(spec.port),
        **{each.url_variable: each.url for each in specs if each.replica == spec.replica},
        **({} if common.get("AEX_STORE_URL") else {INSTANCE: f"suite-{spec.replica}"}),
    }


def require_free_ports(specs: Sequence[ServiceSpec]) -> None:
    """Raise `UserError` if ports are taken. The message names them and a free `--port-base`."""
    busy = [spec for spec in specs if not _is_bindable(spec.port)]
    if not busy:
        return
    names = ", ".join(f"{spec.port} ({spec.label})" for spec in busy)
    word = "ports are" if len(busy) > 1 else "port is"
    base = find_free_port_base(min(spec.port for spec in specs) + _STEP, len(specs))
    other = f"or use other ports: aex up --port-base {base}" if base else "or use other ports with --port-base"
    raise UserError(f"{len(busy)} {word} taken: {names}", f"stop what listens there, {other}")


def _is_bindable(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As uvicorn does: a port in TIME_WAIT is free, one with a listener is not.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                return False
            raise
    return True


def find_free_port_base(first: int, count: int) -> int | None:
    """Return the first of `count` free consecutive ports: `first`, or a multiple of 100 above it.

    None means that there are none up to the last port.
    """
    bases = range(first, LAST_PORT + 2 - count, _STEP)
    return next((base for base in bases if all(_is_bindable(base + offset) for offset in range(count))), None)


def select_services(service: str | None) -> list[str]:
    """Return a list of only this service, or of all for None. Raises `UserError` for an unknown name."""
    if service is None:
        return list(MODULES)
    if service not in MODULES:
        raise UserError(f"there is no service {service!r}", f"choose one of {', '.join(MODULES)}")
    return [service]
