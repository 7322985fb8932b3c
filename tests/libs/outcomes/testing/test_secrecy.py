"""A program's process never holds the test, and the zygote never holds either, as their memory shows."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aex_outcomes.testing.runner import WorkerTestRunner
from tests.libs.outcomes.graded import Graded

_SECRET = "planted" + "-secret-of-the-test"
_ARGUMENT = "planted" + "-argument"
_MARKER = "planted" + "-marker-of-the-program"
_PROGRAM = f"MARKER = '{_MARKER}'\ndef wait(*_): import time; time.sleep(60)\ndef answer(): return MARKER\n"
_REFERENCE = {"reference.py": f"SECRET = '{_SECRET}'"}
_TESTS = f"""
from solution import *
SECRET = "{_SECRET}"
def test_waiting(): assert wait("{_ARGUMENT}") == SECRET
"""


@pytest.fixture
def runner() -> Iterator[WorkerTestRunner]:
    runner = WorkerTestRunner()
    yield runner
    runner.close()


def memory_of(pid: int) -> bytes:
    """Return the memory of a process that may be written, where its data lies."""
    parts = []
    try:
        with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
            for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
                bounds, rights = line.split()[:2]
                if rights.startswith("rw"):
                    first, last = (int(each, 16) for each in bounds.split("-"))
                    with contextlib.suppress(OSError):  # freed meanwhile
                        parts.append(os.pread(memory.fileno(), last - first, first))
    except PermissionError:
        pytest.skip("this system lets no process read the memory of another")
    return b"".join(parts)


def zygote_of(runner: WorkerTestRunner) -> int:
    assert runner._zygote is not None
    return runner._zygote.pid


def children_of(pid: int) -> list[int]:
    return sorted(int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split())


def test_a_program_in_its_call_holds_nothing_of_the_test(runner: WorkerTestRunner) -> None:
    graded = Graded(runner)
    graded.one("", "pass")
    tests = {"style": "functions", "files": {"checks.py": _TESTS}, "reference": _REFERENCE, "timeout_ms": 6_000}
    running = threading.Thread(target=graded.results, args=(tests, {"solution.py": _PROGRAM}))
    running.start()
    deadline = time.monotonic() + 5
    candidate, tester, pids = b"", b"", list[int]()
    # Ready when the argument has arrived; until then neither process may have read its data.
    while _ARGUMENT.encode() not in candidate and time.monotonic() < deadline:
        time.sleep(0.05)
        if len(pids := children_of(zygote_of(runner))) == 2:
            candidate, tester = map(memory_of, pids)
    os.kill(min(pids), signal.SIGKILL)  # the candidate, which is forked first
    running.join()
    assert _ARGUMENT.encode() in candidate
    assert _MARKER.encode() in candidate
    assert _SECRET.encode() in tester
    assert _SECRET.encode() not in candidate
    assert b"test_waiting" not in candidate


def test_the_zygote_holds_neither_test_nor_program_and_no_process_remains(runner: WorkerTestRunner) -> None:
    graded = Graded(runner)
    tests = {
        "style": "functions",
        "files": {"checks.py": _TESTS.replace("wait(", "str(")},
        "reference": _REFERENCE,
    }
    for _ in range(5):
        graded.results(tests, {"solution.py": _PROGRAM})
        graded.results(tests, {"solution.py": "import os\nos._exit(0)\n"})
    held = memory_of(zygote_of(runner))
    assert b"PYTHONHASHSEED" in held
    assert _SECRET.encode() not in held
    assert _MARKER.encode() not in held
    assert b"test_waiting" not in held
    assert children_of(zygote_of(runner)) == []
