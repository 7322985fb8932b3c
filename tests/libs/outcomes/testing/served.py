"""A program that a thread of this process serves, so that a debugger and a measurement see both sides."""

import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aex_outcomes.testing.candidate import CandidateServer, CapturedOutput
from aex_outcomes.testing.connection import MessageConnection
from aex_outcomes.testing.memory_importer import SourceFinder
from aex_outcomes.testing.program_client import ProgramClient
from aex_outcomes.testing.program_modules import ProgramFinder, ProgramModule


@contextmanager
def importable(*finders: Any) -> Iterator[None]:
    """Import from these finders first; their modules are forgotten at the end."""
    before = list(sys.meta_path)
    sys.meta_path[:0] = finders
    try:
        yield
    finally:
        sys.meta_path[:] = before
        for name, module in list(sys.modules.items()):
            loader = module.__dict__.get("__loader__")
            if isinstance(module, ProgramModule) or any(loader is each for each in finders):
                del sys.modules[name]


@dataclass(frozen=True)
class ServedProgram:
    """Client of a served program, and the server's side."""

    client: ProgramClient
    output: CapturedOutput
    server_socket: socket.socket

    def load(self, name: str = "solution", *other_names: str) -> ProgramModule:
        """Return the tester's module of a module of the program."""
        finder = ProgramFinder(self.client, [name, *other_names])
        spec = finder.find_spec(name, None)
        assert spec is not None
        module = finder.create_module(spec)
        finder.exec_module(module)
        return module

    def disconnect(self) -> None:
        """Close the connection, as the end of the candidate process does."""
        self.server_socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def serve(files: Mapping[str, str]) -> Iterator[ServedProgram]:
    """Serve a program's files to the end of the block."""
    client_socket, server_socket = socket.socketpair()
    output = CapturedOutput()
    with client_socket, server_socket, importable(SourceFinder(files)):
        server = CandidateServer(MessageConnection(server_socket.fileno()), output)
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield ServedProgram(ProgramClient(MessageConnection(client_socket.fileno())), output, server_socket)
        finally:
            client_socket.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            assert not thread.is_alive()
