"""Emulators and suites that all pytest processes of a run share, each started on first use."""

import pkgutil
import secrets
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol


class Shared(Protocol):
    """Shared resources by name."""

    def get(self, name: str) -> Any:
        """Return what the context manager `package.module:function` yields; it is entered once in a run."""


class SharedResources:
    """The resources, in the process that starts and ends them: xdist's controller, or the only one."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="aex-tests-"))
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)
        self._values: dict[str, Any] = {}
        self._running = ExitStack()
        self._server: _Server | None = None

    def get(self, name: str) -> Any:
        """Return what the context manager yields; enter it if this is the first call."""
        with self._locks[name]:
            if name not in self._values:
                start: Callable[[SharedResources], AbstractContextManager[Any]] = pkgutil.resolve_name(name)
                self._values[name] = self._running.enter_context(start(self))
            return self._values[name]

    def address(self) -> tuple[str, str]:
        """Return the address and the key by which `RemoteResources` reaches this; start to serve."""
        self._server = self._server or _Server(self.folder / "socket", self)
        return self._server.address, self._server.key.hex()

    def close(self, *, keep_logs: bool) -> None:
        """End all that runs; then delete its data unless `keep_logs`."""
        if self._server is not None:
            self._server.close()
        self._running.close()
        if not (keep_logs and self._values):
            shutil.rmtree(self.folder)


class RemoteResources:
    """The same resources, in another process."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address, bytes.fromhex(key)

    def get(self, name: str) -> Any:
        """Return what the context manager yields.

        Raises `RuntimeError` when it failed to start.
        """
        with Client(self._address, authkey=self._key) as connection:
            connection.send(name)
            value, error = connection.recv()
        if error:
            raise RuntimeError(f"{name} did not start: {error}")
        return value


class _Server:
    """A thread that serves `RemoteResources`, and one per request, as some resources start slowly."""

    def __init__(self, path: Path, resources: Shared) -> None:
        self.address, self.key = str(path), secrets.token_bytes(16)
        self._resources = resources
        self._listener = Listener(self.address, backlog=32, authkey=self.key)
        self._thread = Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        with Client(self.address, authkey=self.key) as connection:
            connection.send(None)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        answering = []
        while True:
            try:
                connection = self._listener.accept()
                name = connection.recv()
            except (OSError, EOFError):  # the process on the other end was killed
                continue
            if name is None:
                connection.close()
                break
            answering.append(Thread(target=self._answer, args=(connection, name)))
            answering[-1].start()
        for thread in answering:
            thread.join()

    def _answer(self, connection: "Connection[Any, Any]", name: str) -> None:
        with connection:
            reply: tuple[Any, str | None]
            try:
                reply = self._resources.get(name), None
            except Exception as error:  # noqa: BLE001 the process that asked raises it
                reply = None, f"{type(error).__name__}: {error}"
            with suppress(OSError):  # the process on the other end was killed
                connection.send(reply)
