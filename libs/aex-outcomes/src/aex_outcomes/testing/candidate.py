"""Candidate process: runs the agent's program and answers the tester's requests about it.

A request is a list: its kind, then its arguments. The kinds are `import` (name), `get` (object, name), `set` (object,
name, value), `delete` (object, name), `call` (object, arguments, keywords) and `apply` (function, arguments). A reply
is `{"value" or "error": message, "out": text}`. The message holds the result, then the changed mutable arguments.
"""

import atexit
import io
import os
import sys
import threading
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from aex_outcomes.testing.allowed_modules import use_memory_importers
from aex_outcomes.testing.connection import ConnectionLost, MessageConnection, MessageTooLarge
from aex_outcomes.testing.memory_importer import SourceFinder
from aex_outcomes.testing.operations import OPERATIONS
from aex_outcomes.testing.value_decoder import ProtocolError, ValueDecoder
from aex_outcomes.testing.value_encoder import MUTABLE, Node, TooDeep, ValueEncoder
from aex_outcomes.testing.value_types import split_exception_bases

_MAX_OUTPUT = 1_000_000
_MAX_NAME = 200


class ObjectTable:
    """Table of the program's objects that the tester has handles of."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}

    def encode_object(self, encoder: ValueEncoder, value: Any) -> Node:
        """Return the node of an object that stays here, of an exception or of an exception's class."""
        if isinstance(value, BaseException):
            try:
                arguments = [encoder.encode_child(each) for each in value.args]
            except TooDeep:
                arguments = [str(value)]
            return ["E", encoder.encode_child(type(value)), arguments]
        if isinstance(value, type) and issubclass(value, BaseException):
            own, builtin = split_exception_bases(value)
            return ["X", [[self._register(each), each.__name__[:_MAX_NAME]] for each in own], builtin.__name__]
        return ["h", self._register(value), callable(value), type(value).__name__[:_MAX_NAME]]

    def decode_object(self, decoder: ValueDecoder, node: Node) -> Any:
        """Return the object that a node of the tester names."""
        if node[0] == "p":
            return self._objects[node[1]]
        if node[0] == "E":
            return decoder.decode_value(node[1], 0)(*decoder.decode_items(node[2], 0))
        raise ProtocolError("a node of an unknown kind")

    def _register(self, value: Any) -> int:
        self._objects[id(value)] = value
        return id(value)


class CandidateServer:
    """Server of the tester's requests, one after the other."""

    def __init__(self, connection: MessageConnection, output: "CapturedOutput") -> None:
        self._connection = connection
        self._output = output
        self._table = ObjectTable()

    def serve(self) -> None:
        """Answer requests until the tester closes the connection."""
        while True:
            try:
                request = self._connection.receive()
            except ConnectionLost:
                return
            self._answer(request)

    def _answer(self, request: Any) -> None:
        decoder = ValueDecoder(self._table.decode_object)
        kind, *arguments = decoder.decode(request)
        mutable = {index: value for index, value in decoder.values.items() if type(value) in MUTABLE}
        try:
            outcome, result = "value", _REQUESTS[kind](*arguments)
        except BaseException as error:  # noqa: BLE001 whatever the program raises is the tester's
            outcome, result = "error", error
        encoded = {id(value): index for index, value in mutable.items()}
        try:
            self._reply(outcome, [result, *mutable.values()], encoded)
        except (MessageTooLarge, TooDeep, RecursionError, MemoryError) as error:
            self._reply("error", [type(error)(*error.args)], {})

    def _reply(self, outcome: str, roots: list[Any], written_back: Mapping[int, int]) -> None:
        message = ValueEncoder(self._table.encode_object, written_back).encode(roots)
        self._connection.send({outcome: message, "out": self._output.take()})


class CapturedOutput(io.StringIO):
    """Standard output of the program, which the tester gets with each reply; text above 1 MB is dropped."""

    def write(self, text: str) -> int:
        """Keep the text and return its length."""
        if self.tell() < _MAX_OUTPUT:
            super().write(text[:_MAX_OUTPUT])
        return len(text)

    def take(self) -> str:
        """Return the text since the last call."""
        text = self.getvalue()
        if text:
            self.seek(0)
            self.truncate()
        return text


def _import(name: str) -> types.ModuleType:
    __import__(name)
    return sys.modules[name]


_REQUESTS: Mapping[str, Callable[..., Any]] = {
    "import": _import,
    "get": getattr,
    "set": setattr,
    "delete": delattr,
    "call": lambda function, arguments, keywords: function(*arguments, **keywords),
    "apply": lambda name, arguments: OPERATIONS[name](*arguments),
}


def run_candidate(descriptor: int, data_descriptor: int) -> None:
    """Run the candidate process: read the program's files, and answer the tester until it ends.

    `descriptor`: connection to the tester. `data_descriptor`: connection to the worker, which sends the files.
    """
    files = MessageConnection(data_descriptor).receive()
    os.close(data_descriptor)
    output = CapturedOutput()
    sys.stdout = output
    use_memory_importers(SourceFinder(files))
    CandidateServer(MessageConnection(descriptor), output).serve()


def run_program(data_descriptor: int) -> None:
    """Run the program as `__main__`, with the process's own standard input and output.

    `data_descriptor`: connection to the worker, which sends the files and the name of the module to run.
    """
    program = MessageConnection(data_descriptor).receive()
    os.close(data_descriptor)
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115 open to the end
    sys.__stdin__, sys.__stdout__ = sys.stdin, sys.stdout  # type: ignore[misc]
    finder = SourceFinder(program["files"])
    use_memory_importers(finder)
    main = types.ModuleType("__main__")
    path = f"{program['module']}.py"
    main.__file__, sys.argv[:] = path, [path]
    sys.modules["__main__"] = main
    try:
        exec(compile(finder.get_source(program["module"]), path, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 the confined process is for this
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for the program's threads, as Python does
        atexit._run_exitfuncs()
        flush_output()
        main.__dict__.clear()  # ends its objects, which may write, as `open(1, "w")` does
        with suppress(Exception):  # an object that the program put here may need what is cleared
            flush_output()


def flush_output() -> None:
    """Write what standard output holds, as Python does at its end.

    The program may have replaced, closed or deleted it.
    """
    stream = getattr(sys, "stdout", None)
    if stream is not None and not stream.closed:
        stream.flush()
    with suppress(ValueError, AttributeError):  # detached, closed or None, because the program has its own stream
        sys.__stdout__.flush()  # type: ignore[union-attr]
