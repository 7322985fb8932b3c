import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.emulators.emulator import EmulatorFailed, OwnEmulator, Program
from tests.emulators.emulators import Emulators, OwnEmulators, started
from tests.emulators.jars import Jars

pytestmark = [pytest.mark.emulator, pytest.mark.slow]

_ORPHANS = """
import os, sys, time
from pathlib import Path
from tests.emulators.emulators import started
from tests.emulators.jars import find_jars
with started(find_jars(os.environ), Path(sys.argv[1])) as pair:
    pair.pubsub.pause()
    print(pair.firestore.pid, pair.pubsub.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=5) as client:
        yield client


def document(emulators: Emulators, project: str) -> str:
    return f"http://{emulators.firestore.host}/v1/projects/{project}/databases/(default)/documents/things/one"


def topic(emulators: Emulators, project: str) -> str:
    return f"http://{emulators.pubsub.host}/v1/projects/{project}/topics/some-topic"


def write(http: httpx.Client, emulators: Emulators, project: str) -> None:
    """A document with the project's name in it."""
    fields = {"fields": {"of": {"stringValue": project}}}
    http.patch(document(emulators, project), json=fields).raise_for_status()


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_both_serve_any_project(emulators: Emulators, http: httpx.Client, project: str) -> None:
    assert http.get(document(emulators, project)).status_code == 404
    write(http, emulators, project)
    assert http.get(document(emulators, project)).json()["fields"] == {"of": {"stringValue": project}}
    assert http.get(topic(emulators, project)).status_code == 404
    http.put(topic(emulators, project), json={}).raise_for_status()
    assert http.get(topic(emulators, project)).json()["name"] == f"projects/{project}/topics/some-topic"


def test_environment_names_them_as_google_does(emulators: Emulators) -> None:
    assert emulators.environment() == {
        "FIRESTORE_EMULATOR_HOST": emulators.firestore.host,
        "PUBSUB_EMULATOR_HOST": emulators.pubsub.host,
    }


@pytest.mark.parametrize("name", ["firestore", "pubsub"])
def test_paused_one_answers_once_it_is_resumed(own_emulators: OwnEmulators, http: httpx.Client, name: str) -> None:
    emulator: OwnEmulator = getattr(own_emulators, name)
    with emulator.paused(), pytest.raises(httpx.ReadTimeout):
        http.get(f"http://{emulator.host}/", timeout=0.5)
    assert http.get(f"http://{emulator.host}/").text.strip() == "Ok"


def test_pairs_are_strangers_to_each_other_and_a_restart_empties_one_or_keeps_what_is_named(
    emulators: Emulators, jars: Jars, http: httpx.Client, project: str, tmp_path: Path
) -> None:
    with started(jars, tmp_path) as other:
        write(http, other, project)
        assert http.get(document(emulators, project)).status_code == 404
        host = other.firestore.host
        other.firestore.restart_with([project])
        assert other.firestore.host == host
        assert http.get(document(other, project)).json()["fields"] == {"of": {"stringValue": project}}
        other.firestore.stop()
        with pytest.raises(httpx.ConnectError):
            http.get(document(other, project))
        other.firestore.start()
        assert http.get(document(other, project)).status_code == 404
        other.pubsub.kill()
        with pytest.raises(httpx.ConnectError):
            http.get(topic(other, project))
    assert gone(other.firestore.pid)
    assert gone(other.pubsub.pid)
    assert "Dev App Server is now running" in (tmp_path / "firestore.log").read_text()


def test_killed_parent_leaves_nothing_behind(jars: Jars, tmp_path: Path) -> None:
    del jars  # only that they are there
    command = [sys.executable, "-c", _ORPHANS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."}) as parent:
        assert parent.stdout is not None
        orphans = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(orphans) == 2
        family = [each for orphan in orphans for each in (orphan, *orphan.children())]
        assert len(family) == 4, "each has a guard"
        parent.send_signal(signal.SIGKILL)
    assert psutil.wait_procs(family, timeout=10)[1] == []


def test_one_that_cannot_start_says_where_its_log_is(jars: Jars, tmp_path: Path) -> None:
    program = Program("broken", (jars.java, "-jar", str(tmp_path / "no.jar")), "/")
    with pytest.raises(EmulatorFailed, match=f"ended at its start: see {tmp_path}/broken.log"):
        OwnEmulator(program, tmp_path)
    assert "Unable to access jarfile" in (tmp_path / "broken.log").read_text()
