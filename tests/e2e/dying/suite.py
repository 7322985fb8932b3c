"""The suite whose services kill themselves at the steps that a test orders."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.backend import Backend
from tests.e2e.dying import backends
from tests.e2e.dying.deaths import Deaths
from tests.e2e.live import Live, live_suite

_CONFIG = """
extractors:
  letters:
    class: tests.e2e.slow_extractor:LetterExtractor
"""
_ALTER = f"{backends.__name__}:{backends.dying_backends.__name__}"


@dataclass(frozen=True, slots=True)
class DyingSuite:
    """The running suite, and the deaths that a test may order."""

    live: Live
    deaths: Deaths


@contextmanager
def dying_suite(folder: Path, backend: Backend) -> Iterator[DyingSuite]:
    """The suite on this backend, with the extractor by which a test knows that a worker runs."""
    config = folder / "outcome-verification.yaml"
    config.write_text(_CONFIG, encoding="utf-8")
    # Each death restarts verification with all its workers.
    environment = {**Deaths.ordered_in(folder / "deaths"), "AEX_WORKERS": "1", "AEX_SANDBOX_WORKERS": "0"}
    with live_suite(folder / ".aex", backend, environment=environment, config=config, alter=_ALTER) as live:
        yield DyingSuite(live, Deaths(folder / "deaths"))
