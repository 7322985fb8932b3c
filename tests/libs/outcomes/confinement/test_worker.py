"""The worker's own loop, in this process: what it answers to what."""

import json
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aex_outcomes.confinement import frames, lockdown
from aex_outcomes.confinement.answers import read_answer
from aex_outcomes.confinement.errors import JobFailed, JobOutOfMemory
from aex_outcomes.confinement.worker import Job, Memory, perform, resolve, serve
from tests.libs.outcomes.confinement import jobs

MARK = 1 << 30


@contextmanager
def serving(known: dict[str, Job]) -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("rb") as incoming:
        thread = threading.Thread(target=serve, args=(incoming, theirs, known, Memory(MARK)))
        thread.start()
        yield ours
        ours.shutdown(socket.SHUT_WR)
        thread.join(10)
        assert not thread.is_alive()


def ask(peer: socket.socket, name: str, payload: dict[str, object]) -> bytes:
    peer.sendall(frames.prefixed(frames.encode({"job": name, "payload": payload})))
    reader = frames.FrameReader(limit=1 << 20)
    while (body := reader.feed(peer.recv(4096))) is None:
        pass
    return body


def test_requests_are_answered_in_order_until_the_end_of_the_stream() -> None:
    with serving({"echo": jobs.echo, "fail": jobs.fail}) as peer:
        assert read_answer(ask(peer, "echo", {"a": 1})).result == {"a": 1}
        assert isinstance(read_answer(ask(peer, "fail", {"message": "m"})).error, JobFailed)
        assert read_answer(ask(peer, "echo", {"text": "x" * 100_000})).result == {"text": "x" * 100_000}


def test_a_stream_cut_within_a_request_ends_the_worker() -> None:
    with serving({"echo": jobs.echo}) as peer:
        peer.sendall(b"\x00\x00\x00\x10{")


def out_of_memory(_: dict[str, object]) -> dict[str, object]:
    raise MemoryError


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def unprintable(_: dict[str, object]) -> dict[str, object]:
    raise Unprintable


@pytest.mark.parametrize(
    ("job", "kind"),
    [(jobs.not_a_dict, "TypeError"), (unprintable, "Unprintable")],
)
def test_whatever_a_job_raises_there_is_an_answer(job: Job, kind: str) -> None:
    answer = read_answer(perform(job, {}, Memory(MARK)))
    assert isinstance(answer.error, JobFailed)
    assert answer.error.kind == kind


def test_a_message_with_lone_surrogates_is_made_printable() -> None:
    error = read_answer(perform(jobs.fail, {"message": "a\ud800b"}, Memory(MARK))).error
    assert isinstance(error, JobFailed)
    assert error.message == "a?b"


def test_a_job_without_memory_asks_for_a_new_worker() -> None:
    answer = read_answer(perform(out_of_memory, {}, Memory(MARK)))
    assert isinstance(answer.error, JobOutOfMemory)
    assert answer.retire


def test_a_worker_above_its_mark_asks_to_be_replaced() -> None:
    assert json.loads(perform(jobs.nothing, {}, Memory(-MARK)))["retire"] is True
    assert json.loads(perform(jobs.nothing, {}, Memory(MARK)))["retire"] is False


def test_jobs_are_found_by_their_names() -> None:
    assert resolve((f"{jobs.HERE}:echo",), ("colorsys",)) == {f"{jobs.HERE}:echo": jobs.echo}
    with pytest.raises(TypeError, match="not callable"):
        resolve((f"{jobs.HERE}:HERE",), ())
    with pytest.raises(ModuleNotFoundError):
        resolve((), ("no_such_module",))


def test_the_address_space_in_use_is_a_multiple_of_a_page() -> None:
    used = lockdown.address_space()
    assert used is not None
    assert used > 0
    assert used % resource.getpagesize() == 0
