"""The choice of an event bus by its URL."""

import re
from pathlib import Path

from aex_runtime.bus.port import Bus
from aex_runtime.setting_types import PROJECT_ID

_ACCEPTED = "embedded:///relative/folder, embedded:////absolute/folder, pubsub://project or memory:"
_PROJECT = re.compile(PROJECT_ID, re.ASCII)


def open_bus(url: str, emulator: str | None = None) -> Bus:
    """Return the bus that a URL names; it connects and creates files only at its first use.

    `emulator` is the `host:port` of a Pub/Sub emulator, used instead of Google's server. Raises `ValueError` for any
    other URL, and if the libraries of the bus are not installed.
    """
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and rest in {"", "//"}:
        from aex_runtime.bus.memory import MemoryBus  # noqa: PLC0415 a process has one kind of bus

        return MemoryBus()
    if scheme == "embedded":
        folder = rest.removeprefix("///")
        if folder in {rest, ""}:
            raise ValueError(f"an embedded bus needs the path of a folder: {_ACCEPTED}")
        from aex_runtime.bus.embedded import EmbeddedBus  # noqa: PLC0415 a process has one kind of bus

        return EmbeddedBus(Path(folder))
    if scheme == "pubsub":
        project = rest.removeprefix("//").removesuffix("/")
        if not rest.startswith("//") or not _PROJECT.fullmatch(project):
            raise ValueError(f"a Pub/Sub bus needs the id of a project: {_ACCEPTED}")
        try:
            from aex_runtime.bus.pubsub import PubSubBus  # noqa: PLC0415 its libraries are an extra
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in {"google", "grpc"}:
                raise
            raise ValueError("a Pub/Sub bus needs Google's libraries: pip install 'aex-runtime[google]'") from error
        return PubSubBus(project, emulator=emulator)
    raise ValueError(f"unknown bus scheme {scheme!r}; a bus is {_ACCEPTED}")
