"""The suites that tests share where nothing is killed, altered or configured: one on each backend."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from tests.e2e.backend import EMBEDDED, Backend, on_emulators
from tests.e2e.live import ANSWER_S, Live, live_suite
from tests.e2e.logged_queries import ASKING, noting_in
from tests.e2e.verifiers.contracts import GATES
from tests.emulators.emulators import SHARED_EMULATORS
from tests.libs.cli.suites import ROOT, RunningSuite
from tests.shared import Shared, SharedResources

_CONFIG = f"""
verifiers:
  tone: {GATES}:tone
  honest: {GATES}:honest
  fragile: {GATES}:fragile
  lenient: {GATES}:lenient
  endless: {{path: "{GATES}:endless", timeout_ms: 500}}
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a suite that another process started."""

    port: int
    pid: int
    data_dir: Path
    backend: Backend


class AttachedSuite(RunningSuite):
    """A suite that another process started, and ends."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self._pid = port, pid

    @property
    def pid(self) -> int:
        return self._pid

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self._pid).children(recursive=True)


@contextmanager
def embedded(resources: SharedResources) -> Iterator[Address]:
    """A suite on SQLite and queue files."""
    with _started(resources.folder / EMBEDDED.name, EMBEDDED) as address:
        yield address


@contextmanager
def emulated(resources: SharedResources) -> Iterator[Address]:
    """Start a suite on the shared emulators; every query it logs must have an index."""
    backend = on_emulators(resources.get(SHARED_EMULATORS))
    with _started(resources.folder / backend.name, backend) as address:
        yield address


@contextmanager
def _started(folder: Path, backend: Backend) -> Iterator[Address]:
    """Start a suite that logs and traces everything, with configured and installed verifiers."""
    folder.mkdir()
    config = folder / "outcome-verification.yaml"
    config.write_text(_CONFIG, encoding="utf-8")
    data_dir = folder / ".aex"
    noting = backend is not EMBEDDED
    environment = {
        "AEX_LOG_LEVEL": "debug",
        "AEX_MAX_SYSTEM_RETRIES": "3",
        "AEX_TRACES_URL": f"file:///{traces_of(data_dir)}",
        "PYTHONPATH": f"{ROOT}:{_installed(folder / 'packages')}",
        **(noting_in(data_dir) if noting else {}),
    }
    alter = ASKING if noting else None
    with live_suite(data_dir, backend, environment=environment, config=config, alter=alter, guard=True) as live:
        yield Address(live.running.port, live.running.pid, data_dir, backend)


def _installed(folder: Path) -> Path:
    info = folder / "tones-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tones\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[aex.verifiers]\noffered = {GATES}:tone\n")
    return folder


def traces_of(data_dir: Path) -> Path:
    """Return the file that the shared suite's spans go to."""
    return data_dir.with_name("spans.jsonl")


@contextmanager
def shared_suite(shared: Shared, backend: str = EMBEDDED.name) -> Iterator[Live]:
    """The suite on this backend; started if no test of the run has used it yet."""
    start = embedded if backend == EMBEDDED.name else emulated
    address: Address = shared.get(f"{__name__}:{start.__name__}")
    with httpx.Client(timeout=ANSWER_S, trust_env=False, limits=httpx.Limits(max_connections=100)) as client:
        yield Live(AttachedSuite(address.port, address.pid), address.data_dir, client, address.backend)
