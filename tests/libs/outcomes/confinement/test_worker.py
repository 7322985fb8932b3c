import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.frames import decode_answer
from aex_outcomes.confinement.settings import JobFailed, JobOutOfMemory
from aex_outcomes.confinement.worker import Job, MemoryWatch, load_jobs, run_job, serve_requests
from tests.libs.outcomes.confinement import jobs

MARK = 1 << 30


@contextmanager
def serving(known: dict[str, Job]) -> Iterator[socket.socket]:
    own_end, other_end = socket.socketpair()
    with own_end, other_end, other_end.makefile("rb") as incoming:
        thread = threading.Thread(target=serve_requests, args=(incoming, other_end, known, MemoryWatch(MARK)))
        thread.start()
        yield own_end
        own_end.shutdown(socket.SHUT_WR)
        thread.join(60)
        assert not thread.is_alive()


def ask(peer: socket.socket, name: str, payload: dict[str, object]) -> bytes:
    peer.sendall(frames.add_length_prefix(frames.encode_json({"job": name, "payload": payload})))
    reader = frames.FrameReader(limit=1 << 20)
    while (body := reader.feed(peer.recv(4096))) is None:
        pass
    return body


def test_requests_are_answered_in_order_until_the_end_of_the_stream() -> None:
    with serving({"echo": jobs.echo, "fail": jobs.fail}) as peer:
        assert decode_answer(ask(peer, "echo", {"a": 1})).result == {"a": 1}
        assert isinstance(decode_answer(ask(peer, "fail", {"message": "m"})).error, JobFailed)
        assert decode_answer(ask(peer, "echo", {"text": "x" * 100_000})).result == {"text": "x" * 100_000}


def test_a_stream_cut_within_a_request_ends_the_worker() -> None:
    with serving({"echo": jobs.echo}) as peer:
        peer.sendall(b"\x00\x00\x00\x10{")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def raising(payload: dict[str, Any]) -> dict[str, Any]:
    raise payload["error"]


@pytest.mark.parametrize(
    ("job", "payload", "kind", "message"),
    [
        (jobs.not_a_dict, {}, "TypeError", "a job returns a dict, not list"),
        (raising, {"error": Unprintable()}, "Unprintable", ""),
        (jobs.fail, {"message": "a\ud800b"}, "ValueError", "a?b"),
    ],
)
def test_exception_of_a_job_is_its_answer(job: Job, payload: dict[str, Any], kind: str, message: str) -> None:
    answer = decode_answer(run_job(job, payload, MemoryWatch(MARK)))
    assert isinstance(answer.error, JobFailed)
    assert (answer.error.kind, answer.error.message) == (kind, message)


def test_a_job_without_memory_requests_a_new_worker() -> None:
    answer = decode_answer(run_job(raising, {"error": MemoryError()}, MemoryWatch(MARK)))
    assert isinstance(answer.error, JobOutOfMemory)
    assert answer.retire


def test_a_worker_above_its_mark_requests_its_replacement() -> None:
    assert json.loads(run_job(jobs.nothing, {}, MemoryWatch(-MARK)))["retire"] is True
    assert json.loads(run_job(jobs.nothing, {}, MemoryWatch(MARK)))["retire"] is False


def test_jobs_are_found_by_their_names() -> None:
    assert load_jobs((f"{jobs.HERE}:echo",), ("colorsys",)) == {f"{jobs.HERE}:echo": jobs.echo}
    with pytest.raises(TypeError, match="not callable"):
        load_jobs((f"{jobs.HERE}:HERE",), ())
    with pytest.raises(ModuleNotFoundError):
        load_jobs((), ("no_such_module",))
