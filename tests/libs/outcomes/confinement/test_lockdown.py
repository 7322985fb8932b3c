import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from aex_outcomes.confinement.lockdown import is_readable_by_all
from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.confinement import jobs
from tests.libs.outcomes.confinement.service import JOBS

ROOT = Path(__file__).parents[4]
UNPRIVILEGED = 65534
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has these")


@linux
async def test_a_worker_has_nothing_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEX_SIGNING_KEY", "canary-3f9a")
    leaked = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    async with WorkerPool(1, jobs=[JOBS + "surroundings"], spares=0) as pool:
        report = await pool.run(JOBS + "surroundings", {})
    os.close(leaked)
    assert set(report["environment"]) == {"LC_ALL", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
    assert "canary" not in json.dumps(report)
    assert report["streams"] == ["/dev/null"] * 3
    assert report["folder"] == "/"
    assert report["session"] is True
    assert len(report["descriptors"]) <= 6  # streams, socket, memory, and the one that lists them
    assert (report["core"], report["file_size"], report["open_files"], report["nice"]) == (
        0,
        0,
        64,
        min(os.nice(0) + 5, 19),
    )
    assert report["status"]["NoNewPrivs"] == "1"
    assert report["status"]["Seccomp"] == "2"
    assert int(report["status"]["CapEff"], 16) == 0


def _victim(folder: Path) -> tuple[object, ...]:
    victim = folder / "victim"
    if not victim.exists():
        victim.write_text("intact")
        victim.chmod(0o666)
        folder.chmod(0o777)
    names = [entry.name for entry in folder.iterdir()]
    return (names, victim.read_text(), stat.S_IMODE(victim.stat().st_mode))


@linux
async def test_a_worker_is_refused_what_an_attacker_wants(tmp_path: Path) -> None:
    state = _victim(tmp_path)
    async with WorkerPool(1, jobs=[JOBS + "attempt"], spares=0) as pool:
        for what in sorted(jobs.ATTEMPTS):
            answer = await pool.run(JOBS + "attempt", {"what": what, "path": str(tmp_path / "victim")})
            assert answer["errno"] in {1, 38}, what
            assert _victim(tmp_path) == state, what


@linux
async def test_trusted_code_may_be_given_sockets_and_children_and_nothing_more() -> None:
    async with WorkerPool(1, jobs=[JOBS + "attempt"], spares=0, network=True, children=True) as pool:
        for what, errno in {"socket": 0, "spawn": 0, "fork": 0, "memory file": 1, "more memory": 1}.items():
            assert await pool.run(JOBS + "attempt", {"what": what}) == {"errno": errno}, what


@linux
@pytest.mark.parametrize("by", ["SIGKILL", "SIGTERM"])
def test_workers_die_with_their_service_whatever_they_are_doing(by: str) -> None:
    command = [sys.executable, "-m", "tests.libs.outcomes.confinement.service", "wait"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        workers = json.loads(_first_json(service))["workers"]
        assert len(workers) == 3
        assert all(psutil.pid_exists(pid) for pid in workers)
        service.kill() if by == "SIGKILL" else service.terminate()
        service.wait(60)
        assert _gone(workers, within_s=60)


def _first_json(service: "subprocess.Popen[str]") -> str:
    assert service.stdout is not None
    return next(line for line in service.stdout if line.startswith("{"))


def _gone(pids: list[int], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not any(_lives(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


_WATCHED = """
import sys, threading, time
from aex_outcomes.confinement.lockdown import poll_parent_and_exit
import os
threading.Thread(target=poll_parent_and_exit, args=(os.getppid(),), daemon=True).start()
print(os.getpid(), flush=True)
time.sleep(60)
"""


def test_where_the_kernel_sends_no_signal_a_worker_watches_its_parent() -> None:
    shell = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {_WATCHED!r}]); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", shell], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        watched = int(parent.stdout.readline())
        assert _lives(watched)
        parent.kill()
        parent.wait(60)
        assert _gone([watched], within_s=60)


def _public_python() -> str | None:
    """An interpreter of our version that any user may run."""
    candidates = [sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"]
    return next((each for each in candidates if Path(each).exists() and is_readable_by_all([each])), None)


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become others")
@pytest.mark.parametrize("service_user", [0, UNPRIVILEGED], ids=["as root", "unprivileged"])
def test_the_pool_works_as_root_and_as_an_unprivileged_user_and_its_workers_are_never_root(service_user: int) -> None:
    python = _public_python()
    paths = [path for path in sys.path if "site-packages" in path or path.endswith("/src")]
    if python is None or not is_readable_by_all(paths):
        pytest.skip("no interpreter that every user may read")
    run = subprocess.run(
        [python, "-m", "tests.libs.outcomes.confinement.service", "try"],
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(paths)},
        user=service_user,
        group=service_user,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    report = json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))
    assert report["surroundings"]["uid"] == UNPRIVILEGED
    assert set(report["refused"].values()) == {1}
    assert report["echo"] == {"after": "a kill"}
    assert "confinement_degraded" not in run.stdout + run.stderr
