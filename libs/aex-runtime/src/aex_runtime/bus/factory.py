"""The bus that a URL names."""

from pathlib import Path

from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Bus

_EMBEDDED = "embedded:///"
_MEMORY = "memory:"


def open_bus(url: str) -> Bus:
    """`embedded:///directory` (relative; absolute with a fourth slash) or `memory:`; else `ValueError`."""
    if url == _MEMORY:
        return MemoryBus()
    if url.startswith(_EMBEDDED) and len(url) > len(_EMBEDDED):
        return EmbeddedBus(Path(url.removeprefix(_EMBEDDED)))
    raise ValueError(f"no bus for {url!r}: use {_EMBEDDED}<directory> or {_MEMORY}")
