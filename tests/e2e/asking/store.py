"""The backends of a service, its store noting queries in a file that all processes share."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.firestore_indexes import Shape, covers
from deploy.write_indexes import FILE
from tests.e2e.live import Live
from tests.parts.recording import RecordingStore, read_shapes

_VARIABLE = "TEST_SHAPES"
ASKING = {
    service: f"tests.e2e.asking.{service.replace('-', '_')}"
    for service in ("work-publisher", "verification", "governance", "settlement")
}
"""What to run in the place of each service."""


def noting_in(data_dir: Path) -> Mapping[str, str]:
    """The variable that the modules need."""
    return {_VARIABLE: str(_file(data_dir))}


def noting_backends(settings: RuntimeSettings, service: str) -> Backends:
    """The backends of the settings, with a store that notes queries."""
    backends = open_backends(settings, service)
    return replace(backends, store=RecordingStore(backends.store, set(), Path(os.environ[_VARIABLE])))


def asked(live: Live) -> set[Shape]:
    """What kinds of queries the suite was asked so far."""
    return read_shapes(_file(live.data_dir))


def uncovered(live: Live) -> list[Shape]:
    """Those of them that Firestore would refuse: no index in the committed file serves them."""
    committed = json.loads(FILE.read_text(encoding="utf-8"))
    return [shape for shape in asked(live) if not covers(committed, shape)]


def _file(data_dir: Path) -> Path:
    return data_dir.with_name("shapes.jsonl")
