"""Which consumers of a queue are there, and how to wake them.

Each consumer keeps a file `{port}-{name}` beside the queue and holds a lock on it. The kernel lets go of the lock
when the process dies, however it dies: a file that can be locked belongs to the dead, with no guessing from process
ids (which are used again, and mean nothing across containers).
"""

import asyncio
import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

_LOOPBACK = "127.0.0.1"


class _Wake(asyncio.DatagramProtocol):
    def __init__(self, wake: asyncio.Event) -> None:
        self._wake = wake

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:  # noqa: ARG002 asyncio's signature
        self._wake.set()


class Presence:
    """One consumer's presence: a socket that wakes it and a locked file that says so."""

    def __init__(self, folder: Path, name: str, transport: asyncio.DatagramTransport, lock: int) -> None:
        self._folder = folder
        self.name = name
        self._transport = transport
        self._lock = lock

    @classmethod
    async def announce(cls, folder: Path, name: str, wake: asyncio.Event) -> "Presence":
        """Be there under `{port}-{name}`: datagrams to the port set `wake`. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Wake(wake), local_addr=(_LOOPBACK, 0))
        port = transport.get_extra_info("sockname")[1]
        try:
            lock = _create_locked(folder, f"{port}-{name}")
        except OSError:
            transport.close()
            raise
        return cls(folder, f"{port}-{name}", transport, lock)

    def withdraw(self) -> None:
        """Be gone."""
        self._transport.close()
        (self._folder / self.name).unlink(missing_ok=True)
        os.close(self._lock)

    def dead(self) -> list[str]:
        """The names of consumers that died."""
        others = [name for name in _listed(self._folder) if name != self.name]
        return [name for name in others if _is_dead(self._folder / name)]

    def forget(self, name: str) -> None:
        """Remove a dead consumer's file."""
        (self._folder / name).unlink(missing_ok=True)


class Waker:
    """Wakes whoever consumes a queue. Called from one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None

    def __call__(self) -> None:
        """Send a datagram to each consumer. Never fails: a lost one costs no more than a poll interval."""
        for name in _listed(self._folder):
            with suppress(OSError):
                self._open().sendto(b"!", (_LOOPBACK, int(name.partition("-")[0])))

    def _open(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind((_LOOPBACK, 0))  # the first datagram would bind it to every address of the machine
            self._socket.setblocking(False)
        return self._socket

    def close(self) -> None:
        """Let go of the socket."""
        if self._socket is not None:
            self._socket.close()


def _listed(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 names alone, after each commit
    except OSError:  # nobody has been there yet
        return []
    return [name for name in names if name.partition("-")[0].isdecimal()]


def _create_locked(folder: Path, name: str) -> int:
    """Make the file and lock it before anyone can see it: it is renamed into place, and the lock goes with it."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # parents of what is made get the umask's mode
    folder.mkdir(exist_ok=True, mode=0o700)
    hidden = folder / f".{name}"
    descriptor = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        hidden.rename(folder / name)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _is_dead(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False  # withdrawn in the meantime
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
