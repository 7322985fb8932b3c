"""A server that speaks as much of OpenAI's chat completions as a reviewer needs, over real HTTP."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import Any

ACCEPTING: dict[str, Any] = {
    "outcome_verdict": "answers_question",
    "scientific_validity": "valid",
    "confidence": 0.97,
    "answers_original_question": True,
    "values_plausible": True,
    "values_consistent": True,
    "reasoning_sound": True,
    "issues": [],
    "value_mismatches": [],
    "domain_violations": [],
    "missing_for_conclusion": [],
    "recommendation": "accept",
    "reasoning": "Everything is in order.",
}
"""The review of a reviewer that accepts whatever it is shown."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came: the JSON body, and the headers by their names in lower case."""

    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def prompt(self) -> str:
        """All that the model is told, system and user messages together."""
        return "\n".join(str(message["content"]) for message in self.body["messages"] if message.get("content"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back. `hangs`: nothing is, until the stub closes."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


Behaviour = Callable[[Asked], Reply]


def says(text: str) -> Behaviour:
    """Plain content, whatever form was asked for."""
    return lambda asked: _completion(asked, {"role": "assistant", "content": text}, "stop")


def calls_tool(arguments: str) -> Behaviour:
    """A call of the first tool that was offered, with this text as its arguments; plain content where none was."""

    def reply(asked: Asked) -> Reply:
        tools = asked.body.get("tools")
        if not tools:
            return says(arguments)(asked)
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": tools[0]["function"]["name"], "arguments": arguments},
        }
        return _completion(asked, {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")

    return reply


def reviews(**changed: Any) -> Behaviour:
    """The accepting review with these fields changed, in the form that was asked for."""
    return calls_tool(json.dumps(ACCEPTING | changed))


ACCEPTS = reviews()
GARBAGE = says("The stars look favourable tonight; I would not worry {")
HANGS: Behaviour = lambda _: Reply(hangs=True)  # noqa: E731 a value beside the others


def fails(status: int, **headers: str) -> Behaviour:
    """An error of this status, in OpenAI's form; header names with `_` for `-`."""
    body = json.dumps({"error": {"message": "The stub was told to fail", "type": "stub", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(body, status, named)


def sends(body: bytes) -> Behaviour:
    """These bytes in the place of a completion."""
    return lambda _: Reply(body)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One after the other; the last stays."""
    coming: Iterator[Behaviour] = chain(behaviours, repeat(behaviours[-1]))

    def reply(asked: Asked) -> Reply:
        return next(coming)(asked)

    return reply


class OpenAIStub:
    """A running stub. `behave` changes what it says from now on; `asked` holds every request so far."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._behaviour = behaviour
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """What `AEX_REVIEW_BASE_URL` is set to."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def environment(self) -> dict[str, str]:
        """The settings of a verification service that asks this stub."""
        return {
            "AEX_REVIEW_MODEL": "stub-1",
            "AEX_REVIEW_BASE_URL": self.base_url,
            "AEX_REVIEW_API_KEY": "stub-key-that-no-log-may-hold",
        }

    def behave(self, behaviour: Behaviour) -> None:
        """Say this from now on."""
        self._behaviour = behaviour

    def answer(self, asked: Asked) -> Reply:
        """Note the request and say what it was told to."""
        self.asked.append(asked)
        return self._behaviour(asked)

    def close(self) -> None:
        """End it, and whoever hangs."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def openai_stub(behaviour: Behaviour = ACCEPTS) -> Iterator[OpenAIStub]:
    """A stub that runs for as long as the block does."""
    stub = OpenAIStub(behaviour)
    try:
        yield stub
    finally:
        stub.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stub: OpenAIStub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked may go before it has its answer; anything else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = json.loads(self.rfile.read(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path != "/v1/chat/completions":
            reply = fails(404)(Asked(body, headers))
        else:
            reply = self.server.stub.answer(Asked(body, headers))
        if reply.hangs:
            self.server.stub.closing.wait()
            self.close_connection = True
            return
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Tests read `asked`; nothing goes to stderr."""


def _completion(asked: Asked, message: dict[str, Any], reason: str) -> Reply:
    completion = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked.body.get("model", "stub"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return Reply(json.dumps(completion).encode())
