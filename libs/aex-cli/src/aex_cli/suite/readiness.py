"""Waiting until services are ready, and the line that `aex up` prints then.

It uses the HTTP client of the standard library, whose import does not slow down the services' start.
"""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from aex_cli.suite.service_spec import ServiceSpec
from aex_runtime.commandline import write_line_to_stdout

_POLL_S = 0.1
_TIMEOUT_S = 5.0
_MAX_BYTES = 300


class ReadinessProbe:
    """A poller of the services' `/readyz` that remembers the last answer of each."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}
        self._ready: set[str] = set()

    async def wait_until_ready(self, spec: ServiceSpec) -> None:
        """Poll the service's `/readyz` until it answers 200. There is no time limit: the caller sets it."""
        self._ready.discard(spec.label)
        while True:
            ready, self.last[spec.label] = await asyncio.to_thread(_check_ready, spec)
            if ready:
                self._ready.add(spec.label)
                return
            await asyncio.sleep(_POLL_S)

    def find_last_answers_of_unready(self) -> dict[str, str]:
        """Return the last answers of the services that are not ready, by label."""
        return {name: answer for name, answer in self.last.items() if name not in self._ready}


def _check_ready(spec: ServiceSpec) -> tuple[bool, str]:
    connection = HTTPConnection(spec.host, spec.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        text = answer.read(_MAX_BYTES).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return False, f"no answer on port {spec.port} ({type(error).__name__})"
    finally:
        connection.close()
    return answer.status == HTTPStatus.OK, f"/readyz answers {answer.status}: {text}"


def print_ready_line(specs: Sequence[ServiceSpec], root: Path, start_seconds: float) -> None:
    """Print one line for scripts: `ready` and the URL of each process. A terminal gets a banner before it.

    `root`: the data directory. `start_seconds`: how long the start took, for the banner.
    """
    console = Console()
    if console.is_terminal:
        _print_banner(console, specs, root, start_seconds)
    write_line_to_stdout(" ".join(["ready", *(f"{spec.label}={spec.url}" for spec in specs)]))


def _print_banner(console: Console, specs: Sequence[ServiceSpec], root: Path, seconds: float) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0), title=f"AEX Outcomes, up in {seconds:.1f} s")
    table.title_justify = "left"
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for spec in specs:
        table.add_row(spec.label, f"{spec.url}/docs")
    table.add_row("data", escape(str(root)))
    table.add_row("logs", escape(str(root / "logs")))
    table.add_row("token", escape(f"aex token --role consumer --sub acme --data-dir {root}"))
    table.add_row("stop", "Ctrl-C")
    console.print(table)
