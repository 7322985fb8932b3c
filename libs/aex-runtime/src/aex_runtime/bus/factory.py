"""The bus that a URL names."""

from pathlib import Path

from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Bus

_ACCEPTED = "embedded:///relative/folder, embedded:////absolute/folder or memory:"


def open_bus(url: str) -> Bus:
    """The bus behind a URL. Nothing is touched before its first use. Raises `ValueError` for other URLs."""
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and rest in {"", "//"}:
        return MemoryBus()
    if scheme == "embedded":
        folder = rest.removeprefix("///")
        if folder in {rest, ""}:
            raise ValueError(f"an embedded bus needs the path of a folder: {_ACCEPTED}")
        return EmbeddedBus(Path(folder))
    if scheme == "pubsub":
        raise ValueError(f"pubsub: is not in this build; a bus is {_ACCEPTED}")
    raise ValueError(f"unknown bus scheme {scheme!r}; a bus is {_ACCEPTED}")
