"""Are the ports free? Asked before anything starts, so that the answer names the fix."""

import errno
import socket
from collections.abc import Sequence

from aex_cli.suite.service_spec import HOST, ServiceSpec
from aex_runtime.commandline.errors import UserError

_STEP = 100
_TRIES = 50
_LAST_PORT = 65_535


def check_ports(specs: Sequence[ServiceSpec]) -> None:
    """Raise `UserError` naming each port that cannot be bound, and a `--port-base` that can."""
    busy = [spec for spec in specs if not _bindable(spec.port)]
    if not busy:
        return
    names = ", ".join(f"{spec.port} ({spec.label})" for spec in busy)
    word = "ports are" if len(busy) > 1 else "port is"
    base = _free_base(min(spec.port for spec in specs), len(specs))
    other = f"or use other ports: aex up --port-base {base}" if base else "or use other ports with --port-base"
    raise UserError(f"{len(busy)} {word} taken: {names}", f"stop what listens there, {other}")


def _bindable(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As uvicorn does: a port in TIME_WAIT is free, one that somebody listens on is not.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                return False
            raise
    return True


def _free_base(base: int, count: int) -> int | None:
    for candidate in range(base + _STEP, min(base + _TRIES * _STEP, _LAST_PORT - count), _STEP):
        if all(_bindable(candidate + place) for place in range(count)):
            return candidate
    return None
