"""`aex up` as a real process over real small services."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from tests.libs.cli.suites import RunningSuite, aex_up, eventually

pytestmark = pytest.mark.slow


def counted(suite: RunningSuite, place: int = 0) -> int:
    answer = httpx.post(f"http://127.0.0.1:{suite.port + place}/count", trust_env=False)
    return int(answer.raise_for_status().text)


def answers(suite: RunningSuite, place: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{suite.port + place}/readyz", trust_env=False).is_success
    except httpx.TransportError:
        return False


def test_one_ready_line_comes_once_all_answer_and_the_next_start_resumes_with_the_data(tmp_path: Path) -> None:
    data = tmp_path / ".aex"
    with aex_up(data, "steady", "steady") as suite:
        assert suite.ready() == (
            f"ready steady-0=http://127.0.0.1:{suite.port} steady-1=http://127.0.0.1:{suite.port + 1}"
        )
        assert answers(suite, 0)
        assert answers(suite, 1)
        assert counted(suite) == 1
        suite.process.send_signal(signal.SIGINT)
        assert suite.wait() == 0
        assert suite.gone()
        assert len(suite.out) == 1
    with aex_up(data, "steady", "steady") as suite:
        suite.ready()
        assert counted(suite) == 2
        suite.process.terminate()
        assert suite.wait() == 0
        assert suite.gone()
    assert {path.name for path in (data / "logs").iterdir()} == {"steady-0.log", "steady-1.log"}


def test_every_service_has_a_session_of_its_own_and_ctrl_c_of_the_terminal_does_not_reach_it(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "steady") as suite:
        suite.ready()
        sessions = {Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[3] for child in suite.family}
        assert sessions == {str(child.pid) for child in suite.family}


def test_a_second_suite_on_the_directory_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady") as first:
        first.ready()
        with aex_up(tmp_path, "steady") as second:
            assert second.wait() == 2
            assert second.told(f"held by process {first.process.pid}")
            assert second.out == []
        assert answers(first, 0)


def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with aex_up(tmp_path / "one", "steady") as first:
        first.ready()
        with aex_up(tmp_path / "two", "steady", port=first.port) as second:
            assert second.wait() == 2
            assert second.told(f"{first.port} (steady-0)")
        assert not list((tmp_path / "two" / "logs").iterdir())


def test_a_killed_supervisor_leaves_no_process_and_the_next_start_waits_for_its_services(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "steady") as suite:
        suite.ready()
        assert counted(suite) == 1
        assert len(suite.family) == 2
        suite.process.kill()
        suite.wait()
        with aex_up(tmp_path, "steady", "steady", port=suite.port) as successor:
            successor.ready()
            assert not suite.left_over()
            assert counted(successor) == 2


def test_a_stopped_suite_lets_requests_under_way_end(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady") as suite, ThreadPoolExecutor() as pool:
        suite.ready()
        slow = pool.submit(httpx.get, f"http://127.0.0.1:{suite.port}/slow?seconds=1.5", trust_env=False)
        time.sleep(0.5)
        suite.process.terminate()
        assert suite.wait() == 0
        assert slow.result().json() == "done"


def test_a_service_that_is_killed_is_restarted_with_its_data(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "steady") as suite:
        suite.ready()
        assert counted(suite, 1) == 1
        suite.child(1).kill()
        line = suite.told("steady-1 died (SIGKILL); restarting")
        assert "(1 of 5)" in line
        assert "steady-1.log" in line
        suite.told("steady-1 is ready again")
        assert counted(suite, 1) == 2
        suite.process.terminate()
        assert suite.wait() == 0


def test_a_service_that_keeps_dying_ends_the_suite_with_the_tail_of_its_log(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "fragile") as suite:
        suite.ready()
        assert suite.wait() == 1
        assert suite.told("fragile-1 died more than")
        assert suite.told("about to die")
        assert suite.gone()


def test_a_service_that_does_not_start_is_shown_and_everything_is_stopped(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "broken") as suite:
        assert suite.wait() == 1
        assert suite.told("broken-1 did not start (exit code 1)")
        assert suite.told("the store is on fire")
        assert suite.out == []
        assert eventually(lambda: not answers(suite, 0))


def test_a_service_that_never_gets_ready_is_named_with_what_it_waits_for(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "unready", ready_s=6) as suite:
        assert suite.wait() == 1
        line = suite.told("not ready within 6 s")
        assert "unready-1: /readyz answers 503: bus: unreachable" in line
        assert "steady-0" not in line


def test_ctrl_c_during_the_start_stops_it(tmp_path: Path) -> None:
    with aex_up(tmp_path, "unready") as suite:
        assert eventually(lambda: answers_at_all(suite))
        suite.process.send_signal(signal.SIGINT)
        assert suite.wait() == 0
        assert suite.out == []
        assert eventually(lambda: not answers_at_all(suite))


def answers_at_all(suite: RunningSuite) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{suite.port}/readyz", trust_env=False)
    except httpx.TransportError:
        return False
    return True


def test_a_second_ctrl_c_kills_what_does_not_stop_with_all_it_started(tmp_path: Path) -> None:
    with aex_up(tmp_path, "stubborn", "steady") as suite:
        suite.ready()
        worker = psutil.Process(int((tmp_path / "worker").read_text()))
        suite.process.send_signal(signal.SIGINT)
        time.sleep(0.6)
        assert suite.process.poll() is None
        begin = time.monotonic()
        suite.process.send_signal(signal.SIGINT)
        assert suite.wait() == 130
        assert time.monotonic() - begin < 8  # not the 10 s of an orderly stop
        assert suite.told("stubborn-0 had not stopped and was killed")
        assert suite.gone()
        assert eventually(lambda: not worker.is_running())


def test_what_does_not_stop_in_time_is_killed(tmp_path: Path) -> None:
    with aex_up(tmp_path, "stubborn", stop_s=1) as suite:
        suite.ready()
        suite.process.terminate()
        assert suite.wait() == 0
        assert suite.told("stubborn-0 had not stopped and was killed")
        assert suite.gone()


def test_a_worker_that_a_killed_service_left_behind_is_killed(tmp_path: Path) -> None:
    with aex_up(tmp_path, "stubborn") as suite:
        suite.ready()
        orphan = psutil.Process(int((tmp_path / "worker").read_text()))
        suite.child(0).kill()
        suite.told("stubborn-0 died")
        assert eventually(lambda: not orphan.is_running())


def test_replicas_are_processes_of_their_own_that_call_their_own_four_and_are_told_apart(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "steady", replicas=2) as suite:
        assert suite.ready() == "ready " + " ".join(
            f"{label}=http://127.0.0.1:{suite.port + place}"
            for place, label in enumerate(("steady-0", "steady-1", "steady-0-2", "steady-1-2"))
        )
        called = [suite.child(place).environ()["AEX_STEADY_0_URL"] for place in range(4)]
        assert called == [f"http://127.0.0.1:{suite.port + first}" for first in (0, 0, 2, 2)]
        name = suite.child(3).environ()["AEX_INSTANCE"]
        assert name not in {suite.child(0).environ()["AEX_INSTANCE"], suite.child(1).environ()["AEX_INSTANCE"]}
        suite.child(3).kill()
        assert "steady-1-2.log" in suite.told("steady-1-2 died (SIGKILL); restarting")
        suite.told("steady-1-2 is ready again")
        assert suite.child(3).environ()["AEX_INSTANCE"] == name
        assert not [line for line in suite.err if line.startswith("steady-1 died")]
        suite.process.terminate()
        assert suite.wait() == 0
        assert suite.gone()
    assert len(list((tmp_path / "logs").iterdir())) == 4
