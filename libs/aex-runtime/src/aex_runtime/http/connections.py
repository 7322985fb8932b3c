"""The server's connections, with a way to end one at once.

A server that closes a connection first sends what it still holds for the reader: for one that hardly reads that takes
as long as it likes.
"""

from collections.abc import Callable
from typing import cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_EXTENSION = "aex.abort"


class AbortableProtocol(HttpToolsProtocol):
    """Uvicorn's protocol over httptools; tells the application how to abort the connection."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        extensions = cast(Scope, self.scope).setdefault("extensions", {})
        extensions[_EXTENSION] = self.transport.abort


def abort_of(scope: Scope) -> Callable[[], None] | None:
    """What ends the connection of this request at once, whatever is still to be sent; None where a server has none."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get(_EXTENSION)
    return abort
