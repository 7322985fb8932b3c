"""Files that show which consumers of a queue are alive, and datagrams that wake them.

Each consumer locks a file `{port}-{name}` beside the queue. The kernel releases the lock when the process dies. So a
file that another process can lock belongs to a dead consumer. Process ids would not show that, because they are reused
and differ between containers.
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


class ConsumerPresence:
    """A living consumer: its locked file, and the socket whose datagrams wake it."""

    def __init__(self, folder: Path, name: str, transport: asyncio.DatagramTransport, lock: int) -> None:
        self._folder = folder
        self.name = name
        self._transport = transport
        self._lock = lock

    @classmethod
    async def register(cls, folder: Path, name: str, wake: asyncio.Event) -> "ConsumerPresence":
        """Create the locked file `{port}-{name}` of a consumer and open its socket.

        A datagram to the port sets `wake`. Raises `OSError`.
        """
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Wake(wake), local_addr=(_LOOPBACK, 0))
        port = transport.get_extra_info("sockname")[1]
        try:
            lock = _create_locked(folder, f"{port}-{name}")
        except OSError:
            transport.close()
            raise
        return cls(folder, f"{port}-{name}", transport, lock)

    def unregister(self) -> None:
        """Delete the consumer's file and close its socket."""
        self._transport.close()
        (self._folder / self.name).unlink(missing_ok=True)
        os.close(self._lock)

    def find_dead_consumers(self) -> list[str]:
        """Return the file names of other consumers whose processes have died."""
        others = [name for name in _list_consumers(self._folder) if name != self.name]
        return [name for name in others if _is_dead(self._folder / name)]

    def remove_dead_consumer(self, name: str) -> None:
        """Delete the file of a dead consumer."""
        (self._folder / name).unlink(missing_ok=True)


class Waker:
    """A callable that wakes all consumers of one queue by datagrams to the ports in their file names.

    An instance is for one thread.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None

    def __call__(self) -> None:
        """Send a datagram to each consumer. Never raises: a consumer that gets none polls within a second."""
        for name in _list_consumers(self._folder):
            with suppress(OSError):
                self._open_socket().sendto(b"!", (_LOOPBACK, int(name.partition("-")[0])))

    def _open_socket(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind((_LOOPBACK, 0))  # the first datagram would bind it to every address of the machine
            self._socket.setblocking(False)
        return self._socket

    def close(self) -> None:
        """Close the socket that sends the datagrams."""
        if self._socket is not None:
            self._socket.close()


def _list_consumers(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 names alone, after each commit
    except OSError:  # no consumer has registered yet
        return []
    return [name for name in names if name.partition("-")[0].isdecimal()]


def _create_locked(folder: Path, name: str) -> int:
    """Create and lock a file under a hidden name, rename it and return its descriptor.

    The lock survives the renaming, so that the file is never visible without it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # mkdir gives parents the umask's mode
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
