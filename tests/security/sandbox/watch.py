"""Watchers beside hostile code: a socket, the memory, the processes and the event loop."""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_S = 0.01


class Listening:
    """A socket that must stay unconnected."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def was_reached(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            self._socket.accept()[0].close()
            return True
        return False

    def close(self) -> None:
        self._socket.close()


class MemoryWatch:
    """Samples of the resident memory of the processes that this process started during the watch."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._others = frozenset(descendants(process))
        self.peak_bytes = 0
        self.most_processes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(_SAMPLE_S):
            below = [each for each in descendants(self._process) if each not in self._others]
            self.most_processes = max(self.most_processes, len(below))
            self.peak_bytes = max(self.peak_bytes, sum(map(resident, below)))


class Pulse:
    """Beats of the event loop."""

    def __init__(self) -> None:
        self.beats = 0

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(0.01)
            self.beats += 1


def descendants(process: int) -> list[int]:
    found: list[int] = []
    for task in _tasks(process):
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                found += [child, *descendants(child)]
    return found


def _tasks(process: int) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(Path(f"/proc/{process}/task").iterdir())
    return []


def resident(process: int) -> int:
    """Bytes of resident memory; 0 for a process that is gone."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
