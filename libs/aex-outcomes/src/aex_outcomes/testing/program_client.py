"""Tester's requests to the program in the candidate process, and local classes for its exceptions."""

import sys
import threading
import types
from collections.abc import Sequence
from typing import Any

from aex_outcomes.testing.connection import ConnectionLost, MessageConnection, MessageTooLarge
from aex_outcomes.testing.handles import CallableHandle, Handle
from aex_outcomes.testing.value_decoder import ProtocolError, ValueDecoder
from aex_outcomes.testing.value_encoder import MUTABLE, Node, ValueEncoder
from aex_outcomes.testing.value_types import BUILTIN_EXCEPTIONS


class ProgramClient:
    """Client of the candidate process; one request runs at a time."""

    def __init__(self, connection: MessageConnection) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._handles: dict[int, Handle] = {}
        self._exceptions: dict[int, type[Exception]] = {}
        self._exception_ids: dict[type, int] = {}
        self.is_lost = False
        """True once the candidate process ended or broke the protocol; the test has not passed then."""
        self.is_out_of_memory = False
        """True once the program raised `MemoryError`."""

    def apply(self, operation: str, *arguments: Any) -> Any:
        """Return the result of an operation on objects of the program."""
        return self.request("apply", operation, list(arguments))

    def request(self, kind: str, *arguments: Any) -> Any:
        """Send a request and return its result; changes of mutable arguments are written back.

        Raises the exception that the program raised, `TypeError` for an argument that cannot cross, and
        `ConnectionLost`.
        """
        with self._lock:
            if self.is_lost:
                raise ConnectionLost("the program has ended")
            encoder = ValueEncoder(self._encode_object)
            message = encoder.encode([kind, *arguments])
            objects = dict(enumerate(encoder.objects))
            try:
                self._connection.send(message)
                reply = self._connection.receive()
                decoder = ValueDecoder(self._decode_object, {k: v for k, v in objects.items() if type(v) in MUTABLE})
                is_error = "error" in reply
                result = decoder.decode(reply["error" if is_error else "value"])[0]
                text = reply["out"]
            except MessageTooLarge:
                raise
            except (ConnectionLost, ProtocolError, KeyError, IndexError, TypeError) as error:
                self.is_lost = True
                raise ConnectionLost(f"the program has ended ({type(error).__name__})") from None
        if text and type(text) is str:
            sys.stdout.write(text)
        if not is_error:
            return result
        self.is_out_of_memory |= isinstance(result, MemoryError)
        raise result if isinstance(result, Exception) else ProtocolError("an error that is no exception")

    def _encode_object(self, encoder: ValueEncoder, value: Any) -> Node:
        if isinstance(value, Handle):
            return ["p", value._aex_id]
        if isinstance(value, types.ModuleType) and isinstance(value.__dict__.get("_aex_handle"), Handle):
            return self._encode_object(encoder, value.__dict__["_aex_handle"])
        if isinstance(value, type) and value in self._exception_ids:
            return ["p", self._exception_ids[value]]
        if isinstance(value, BaseException):
            return ["E", encoder.encode_child(type(value)), encoder.encode_items(value.args)]
        raise TypeError(f"a {type(value).__name__} cannot be passed to the tested program: pass plain values")

    def _decode_object(self, decoder: ValueDecoder, node: Node) -> Any:
        match node:
            case ["h", int(object_id), bool(is_callable), str(type_name)]:
                if object_id not in self._handles:
                    kind = CallableHandle if is_callable else Handle
                    self._handles[object_id] = kind(self, object_id, type_name)
                return self._handles[object_id]
            case ["X", [*own], str(builtin)]:
                return self._local_class(own, builtin)
            case ["E", kind, [*arguments]]:
                return _make_exception(decoder.decode_value(kind, 0), decoder.decode_items(arguments, 0))
        raise ProtocolError("a node of an unknown kind")

    def _local_class(self, own: Sequence[Any], builtin: str) -> type[BaseException]:
        """Return the local class of an exception class of the program, on the same built-in base."""
        base = BUILTIN_EXCEPTIONS[builtin]
        local: type[Any] = base if issubclass(base, Exception) else Exception
        for object_id, name in reversed(own):
            if object_id not in self._exceptions:
                made: type[Exception] = type(str(name), (local,), {"__module__": "program"})
                self._exceptions[object_id] = made
                self._exception_ids[made] = object_id
            local = self._exceptions[object_id]
        return local


def _make_exception(kind: Any, arguments: list[Any]) -> Exception:
    """Return the program's exception; a plain error of the same name if it is `SystemExit` or the like."""
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        plain: type[Exception] = type(getattr(kind, "__name__", "exception"), (Exception,), {"__module__": "builtins"})
        return plain(*arguments)
    try:
        return kind(*arguments)
    except Exception:  # noqa: BLE001 a class may need other arguments
        error = kind.__new__(kind)
        error.args = tuple(arguments)
        return error
