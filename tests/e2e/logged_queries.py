"""The backends of a service, its store noting queries in a file that all processes share."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from deploy.write_indexes import FILE
from tests.e2e.live import Live
from tests.parts.query_shapes import Shape, has_index_for
from tests.parts.recording import RecordingStore, read_shapes

_VARIABLE = "TEST_SHAPES"


def noting_in(data_dir: Path) -> Mapping[str, str]:
    """The variable that the modules need."""
    return {_VARIABLE: str(_file(data_dir))}


def noting_backends(settings: RuntimeSettings, service: str) -> tuple[Backends, None]:
    """Return the backends of the settings, with a store that notes queries."""
    backends = open_backends(settings, service)
    return replace(backends, store=RecordingStore(backends.store, set(), Path(os.environ[_VARIABLE]))), None


ASKING = f"{__name__}:{noting_backends.__name__}"


def logged_queries(live: Live) -> set[Shape]:
    """Return the kinds of queries that the suite has run."""
    return read_shapes(_file(live.data_dir))


def uncovered(live: Live) -> list[Shape]:
    """Return the queries that no index of the committed file serves: Firestore would refuse them."""
    committed = json.loads(FILE.read_text(encoding="utf-8"))
    return [shape for shape in logged_queries(live) if not has_index_for(committed, shape)]


def _file(data_dir: Path) -> Path:
    return data_dir.with_name("shapes.jsonl")
