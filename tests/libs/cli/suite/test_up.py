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


def counted(suite: RunningSuite, position: int = 0) -> int:
    answer = httpx.post(f"http://127.0.0.1:{suite.port + position}/count", trust_env=False)
    return int(answer.raise_for_status().text)


def answers(suite: RunningSuite, position: int, status: int = 200) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{suite.port + position}/readyz", trust_env=False).status_code == status
    except httpx.TransportError:
        return False


def test_next_start_continues_with_the_data_after_requests_in_progress_end(tmp_path: Path) -> None:
    data = tmp_path / ".aex"
    with aex_up(data, "steady", "steady") as suite, ThreadPoolExecutor() as pool:
        assert suite.wait_until_ready() == (
            f"ready steady-0=http://127.0.0.1:{suite.port} steady-1=http://127.0.0.1:{suite.port + 1}"
        )
        assert answers(suite, 1)
        assert counted(suite) == 1
        sessions = {Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[3] for child in suite.family}
        assert sessions == {str(child.pid) for child in suite.family}, "Ctrl-C of the terminal does not reach them"
        slow = pool.submit(httpx.get, f"http://127.0.0.1:{suite.port}/slow?seconds=1", trust_env=False)
        assert eventually((data / "slow").exists)
        suite.process.send_signal(signal.SIGINT)
        assert suite.wait() == 0
        assert slow.result().json() == "done"
        assert suite.has_ended()
        assert len(suite.out) == 1
    with aex_up(data, "steady") as suite:
        suite.wait_until_ready()
        assert counted(suite) == 2
        suite.process.terminate()
        assert suite.wait() == 0
        assert suite.has_ended()
    assert {path.name for path in (data / "logs").iterdir()} == {"steady-0.log", "steady-1.log"}


def test_start_after_a_killed_supervisor_waits_for_its_services(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady") as suite:
        suite.wait_until_ready()
        assert counted(suite) == 1
        assert len(suite.family) == 1
        suite.process.kill()
        suite.wait()
        with aex_up(tmp_path, "steady", port=suite.port) as successor:
            successor.wait_until_ready()
            assert not suite.remaining()
            assert counted(successor) == 2


def test_service_that_keeps_dying_ends_the_suite_with_its_last_log_lines(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "fragile") as suite:
        suite.wait_until_ready()
        assert suite.wait() == 1
        assert suite.wait_for_error("fragile-1 died more than 2 times in 600 s")
        assert suite.wait_for_error("about to die")
        assert suite.has_ended()


def test_service_that_does_not_start_stops_the_suite_with_its_log(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "broken") as suite:
        assert suite.wait() == 1
        assert suite.wait_for_error("broken-1 did not start (exit code 1)")
        assert suite.wait_for_error("the store is on fire")
        assert suite.out == []
        assert eventually(lambda: not answers(suite, 0))


def test_service_that_never_gets_ready_is_named_with_its_answer(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "unready", ready_s=15) as suite:
        assert suite.wait() == 1
        line = suite.wait_for_error("not ready within 15 s")
        assert "unready-1: /readyz answers 503: bus: unreachable" in line
        assert "steady-0" not in line


def test_ctrl_c_during_the_start_stops_the_suite(tmp_path: Path) -> None:
    with aex_up(tmp_path, "unready") as suite:
        assert eventually(lambda: answers(suite, 0, status=503))
        suite.process.send_signal(signal.SIGINT)
        assert suite.wait() == 0
        assert suite.out == []
        assert eventually(lambda: not answers(suite, 0, status=503))


def test_second_ctrl_c_kills_services_with_their_children(tmp_path: Path) -> None:
    with aex_up(tmp_path, "stubborn", "steady", stop_s=600) as suite:
        suite.wait_until_ready()
        worker = psutil.Process(int((tmp_path / "worker").read_text()))
        suite.process.send_signal(signal.SIGINT)
        suite.wait_for_error("stopping; a second Ctrl-C kills at once")
        time.sleep(0.6)  # within 0.3 s a signal counts as an echo of the first
        suite.process.send_signal(signal.SIGINT)
        assert suite.wait() == 130
        assert suite.wait_for_error("stubborn-0 had not stopped and was killed")
        assert suite.has_ended()
        assert eventually(lambda: not worker.is_running())


def test_workers_of_a_killed_service_and_services_that_do_not_stop_are_killed(tmp_path: Path) -> None:
    with aex_up(tmp_path, "stubborn", stop_s=1) as suite:
        suite.wait_until_ready()
        orphan = psutil.Process(int((tmp_path / "worker").read_text()))
        suite.child(0).kill()
        suite.wait_for_error("stubborn-0 is ready again")
        assert eventually(lambda: not orphan.is_running())
        suite.process.terminate()
        assert suite.wait() == 0
        assert suite.wait_for_error("stubborn-0 had not stopped and was killed")
        assert suite.has_ended()


def test_killed_replica_is_restarted_under_its_name_with_its_data(tmp_path: Path) -> None:
    with aex_up(tmp_path, "steady", "steady", replicas=2) as suite:
        assert suite.wait_until_ready() == "ready " + " ".join(
            f"{label}=http://127.0.0.1:{suite.port + position}"
            for position, label in enumerate(("steady-0", "steady-1", "steady-0-2", "steady-1-2"))
        )
        called = [suite.child(position).environ()["AEX_STEADY_0_URL"] for position in range(4)]
        assert called == [f"http://127.0.0.1:{suite.port + first}" for first in (0, 0, 2, 2)]
        name = suite.child(3).environ()["AEX_INSTANCE"]
        assert name not in {suite.child(0).environ()["AEX_INSTANCE"], suite.child(1).environ()["AEX_INSTANCE"]}
        assert counted(suite, 3) == 1
        suite.child(3).kill()
        line = suite.wait_for_error("steady-1-2 died (SIGKILL); restarting")
        assert "(1 of 2)" in line
        assert "steady-1-2.log" in line
        suite.wait_for_error("steady-1-2 is ready again")
        assert suite.child(3).environ()["AEX_INSTANCE"] == name
        assert counted(suite, 3) == 2
        assert not [line for line in suite.err if line.startswith("steady-1 died")]
        suite.process.terminate()
        assert suite.wait() == 0
        assert suite.has_ended()
    assert len(list((tmp_path / "logs").iterdir())) == 4
