"""A stub of OpenAI's chat completions over real HTTP, and the behaviours that it can have."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
class ChatRequest:
    """A received request: its JSON body, and its headers by names in lower case."""

    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def prompt(self) -> str:
        return "\n".join(str(message["content"]) for message in self.body["messages"] if message.get("content"))


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of the stub. With `hangs`, none is sent until the stub closes."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


Behaviour = Callable[[ChatRequest], Reply]


def reply_text(text: str) -> Behaviour:
    return lambda request: _completion(request, {"role": "assistant", "content": text}, "stop")


def reply_tool_call(arguments: str) -> Behaviour:
    def reply(request: ChatRequest) -> Reply:
        tools = request.body.get("tools")
        if not tools:
            return reply_text(arguments)(request)
        function = {"name": tools[0]["function"]["name"], "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": function}
        return _completion(request, {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")

    return reply


def reply_review(**changed: Any) -> Behaviour:
    """Return a behaviour that replies with an accepting review, in the requested form.

    Keyword arguments replace fields of the review.
    """
    return reply_tool_call(json.dumps(ACCEPTING | changed))


ACCEPTS = reply_review()
GARBAGE = reply_text("The stars look favourable tonight; I would not worry {")
HANGS: Behaviour = lambda _: Reply(hangs=True)  # noqa: E731 a value beside the others


def reply_error(status: int, **headers: str) -> Behaviour:
    """Return a behaviour that replies with an error in OpenAI's form. `headers`: names with `_` for `-`."""
    body = json.dumps({"error": {"message": "The stub fails on request", "type": "stub", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(body, status, named)


def reply_bytes(body: bytes) -> Behaviour:
    return lambda _: Reply(body)


class OpenAIStub(ThreadingHTTPServer):
    """A running stub. `requests` holds every request so far."""

    daemon_threads = True

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[ChatRequest] = []
        self.closing = threading.Event()
        self.set_behaviour(behaviour)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def environment(self) -> dict[str, str]:
        return {
            "AEX_REVIEW_MODEL": "stub-1",
            "AEX_REVIEW_BASE_URL": self.base_url,
            "AEX_REVIEW_API_KEY": "stub-key-that-no-log-may-hold",
        }

    def set_behaviour(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def run_openai_stub(behaviour: Behaviour = ACCEPTS) -> Iterator[OpenAIStub]:
    with OpenAIStub(behaviour) as stub:
        thread = threading.Thread(target=stub.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield stub
        finally:
            stub.closing.set()
            stub.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OpenAIStub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        request = ChatRequest(body, {name.lower(): value for name, value in self.headers.items()})
        if self.path == "/v1/chat/completions":
            self.server.requests.append(request)
            reply = self.server.behaviour(request)
        else:
            reply = reply_error(404)(request)
        if reply.hangs:
            self.server.closing.wait()
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Log nothing to stderr. Tests read `requests` instead."""


def _completion(request: ChatRequest, message: dict[str, Any], reason: str) -> Reply:
    completion = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request.body.get("model", "stub"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return Reply(json.dumps(completion).encode())
