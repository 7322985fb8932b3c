"""Messages between two processes arrive complete, or the connection is lost."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from aex_outcomes.testing.connection import ConnectionLost, MessageConnection, MessageTooLarge
from aex_outcomes.testing.value_decoder import ProtocolError

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    first, second = socket.socketpair()
    with first, second:
        yield first, second


def test_a_message_larger_than_the_buffers_arrives(pair: Pair) -> None:
    sender, receiver = (MessageConnection(each.fileno()) for each in pair)
    message = {"text": "é" * 400_000}
    thread = threading.Thread(target=sender.send, args=[message])
    thread.start()
    assert receiver.receive() == message
    thread.join()


def test_a_message_above_the_limit_is_neither_sent_nor_read(pair: Pair) -> None:
    small, large = MessageConnection(pair[0].fileno(), 10), MessageConnection(pair[1].fileno(), 100)
    with pytest.raises(MessageTooLarge, match="a message of 12 bytes; the limit is 10"):
        small.send("x" * 10)
    small.send("x")
    assert large.receive() == "x"
    large.send("x" * 10)
    with pytest.raises(ProtocolError, match="a message of 12 bytes; the limit is 10"):
        small.receive()


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
def test_a_message_that_is_no_json_is_a_protocol_error(pair: Pair, body: bytes) -> None:
    pair[0].sendall(struct.pack(">I", len(body)) + body)
    with pytest.raises(ProtocolError, match="not JSON"):
        MessageConnection(pair[1].fileno()).receive()


@pytest.mark.parametrize("part", [b"", b"\0\0", b"\0\0\0\5abc"])
def test_a_connection_that_ends_within_a_message_is_lost(pair: Pair, part: bytes) -> None:
    pair[0].sendall(part)
    pair[0].close()
    with pytest.raises(ConnectionLost, match="closed"):
        MessageConnection(pair[1].fileno()).receive()


def test_a_reset_connection_is_lost_for_both_directions(pair: Pair) -> None:
    pair[0].sendall(b"unread")
    pair[1].close()
    connection = MessageConnection(pair[0].fileno())
    with pytest.raises(ConnectionLost):
        connection.send("x")
    with pytest.raises(ConnectionLost):
        connection.receive()


def test_no_handler_of_ordinary_exceptions_hides_a_lost_connection() -> None:
    assert not issubclass(ConnectionLost, Exception)
