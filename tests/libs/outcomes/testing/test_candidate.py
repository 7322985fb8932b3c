"""A candidate process answers every request in order, and obeys only messages of an honest tester."""

import io
import socket
import sys
from typing import Any

import pytest

from aex_outcomes.testing.candidate import CandidateServer, CapturedOutput, flush_output
from aex_outcomes.testing.connection import MessageConnection
from aex_outcomes.testing.value_decoder import ProtocolError
from aex_outcomes.testing.value_encoder import ValueEncoder


class Raw:
    """A node as it is sent."""

    def __init__(self, *node: Any) -> None:
        self.node = list(node)


def encoded(*request: Any) -> Any:
    return ValueEncoder(lambda _, value: value.node).encode(request)


def replies(*messages: Any) -> list[Any]:
    """Return the replies to these messages, after which the tester closes the connection."""
    client_end, server_end = socket.socketpair()
    with client_end, server_end:
        client = MessageConnection(client_end.fileno())
        for each in messages:
            client.send(each)
        client_end.shutdown(socket.SHUT_WR)
        CandidateServer(MessageConnection(server_end.fileno()), CapturedOutput()).serve()
        return [client.receive() for _ in messages]


def test_each_request_has_one_reply_in_order() -> None:
    module, missing = replies(encoded("import", "math"), encoded("import", "no_such_module"))
    [index] = module["value"]["r"][0]
    assert module["value"]["n"][index][0] == "h"
    assert module["out"] == ""
    assert "ModuleNotFoundError" in str(missing["error"])


def test_requests_of_unknown_kinds_and_operations_are_errors() -> None:
    for each in replies(encoded("eval", "1"), encoded("apply", "system", ["ls"]), encoded("get", 1)):
        assert set(each) == {"error", "out"}


@pytest.mark.parametrize("node", [["p", 1], ["?", 1], ["E", 5, []]])
def test_a_node_that_no_tester_sends_ends_the_candidate(node: list[Any]) -> None:
    with pytest.raises(ProtocolError):
        replies(encoded("get", Raw(*node), "name"))


def test_output_is_taken_once_and_dropped_above_a_megabyte() -> None:
    output = CapturedOutput()
    assert output.take() == ""
    assert output.write("abc") == 3
    assert output.take() == "abc"
    assert output.take() == ""
    assert output.write("x" * 2_000_000) == 2_000_000
    assert output.write("y") == 1
    assert output.take() == "x" * 1_000_000


def test_output_is_flushed_unless_the_program_closed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, closed = io.BytesIO(), io.StringIO()
    buffered = io.TextIOWrapper(raw)
    buffered.write("abc")
    closed.close()
    for stream in (buffered, closed, None):
        monkeypatch.setattr(sys, "stdout", stream)
        flush_output()
    assert raw.getvalue() == b"abc"
