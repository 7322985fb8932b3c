"""What the operations guide says to do with a suite that is stopped, and with containers that keep their records."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.deploy.compose.composed import composed, environment_of
from tests.deploy.compose.running import Composed, Places
from tests.deploy.declared import SERVICES, port_of
from tests.docs.documents import ROOT, STOPPED, blocks_of, text_of
from tests.e2e.backend import EMBEDDED
from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import ANSWER_S, Live, live_suite
from tests.e2e.parties import Caller, Parties, parties_of
from tests.libs.cli.suites import RunningSuite, free_ports

BLOCKS = blocks_of(text_of(ROOT / "deploy/README.md"))
ROLES = {"consumer": "acme", "agent": "bot", "finance": "fiona", "operator": "olga"}
KEPT = {"AEX_STORE_URL", "AEX_BUS_URL", "FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"}
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_backup_is_made_and_restored_as_told(tmp_path: Path) -> None:
    with live_suite(tmp_path / ".aex") as live:
        parties = parties_of(live)
        contract_id = contract(parties)
        deliver(parties, contract_id, GOOD)
        settled = until_settled(parties.finance, contract_id)
        live.running.process.terminate()
        assert live.running.wait() == 0
    (backup,) = [block.text for block in BLOCKS if block.mark == STOPPED]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    told = subprocess.run(
        ["bash", "-eu", "-c", backup],
        cwd=tmp_path,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert told.returncode == 0, told.stderr
    assert "\nseal " in told.stdout
    with live_suite(tmp_path / "restored") as restored:
        finance = Caller(restored, parties.finance.id, parties.finance.token)  # the key is in the copy, too
        assert finance.read("settlement", f"/v1/settlements/{contract_id}") == settled
        assert restored.breakdowns() == []


@pytest.fixture
def overridden(tmp_path: Path) -> dict[str, Any]:
    """The services of the compose file with the guide's file over it, as Docker Compose merges them."""
    (override,) = [block for block in BLOCKS if block.file == "docker-compose.override.yaml"]
    file = tmp_path / "docker-compose.override.yaml"
    file.write_text(override.text, encoding="utf-8")
    services: dict[str, Any] = composed(Path(os.devnull), file)["services"]
    return services


def test_containers_that_keep_their_records_have_nothing_to_do_with_emulators(overridden: dict[str, Any]) -> None:
    for service in (*SERVICES, "aex"):
        assert {name for name in KEPT if environment_of(overridden[service]).get(name)} == set()


def test_containers_that_keep_their_records_do_the_main_job_again_after_a_restart(
    overridden: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    with processes_of(overridden, tmp_path) as parties:
        contract_id = contract(parties)
        deliver(parties, contract_id, GOOD)
        settled = until_settled(parties.finance, contract_id)
    with processes_of(overridden, tmp_path) as parties:
        assert parties.finance.read("settlement", f"/v1/settlements/{contract_id}") == settled
        assert deliver(parties, contract(parties), GOOD)["verdict"] == "passed"


@contextmanager
def processes_of(services: dict[str, Any], folder: Path) -> Iterator[Parties]:
    """The four services as plain processes with the environment of their containers; their parties."""
    base = free_ports(len(SERVICES))
    ports = {f"{service}:{port_of(service)}": f"127.0.0.1:{base + at}" for at, service in enumerate(SERVICES)}
    places = Places({**ports, "/data": f"{folder / 'data'}", "0.0.0.0": "127.0.0.1"})  # noqa: S104 it is replaced
    suite = Composed(services, places, base, folder)
    with ExitStack() as stack:
        for service in SERVICES:
            process = suite.start(service)
            stack.callback(process.wait)
            stack.callback(process.kill)
        for service in SERVICES:
            suite.await_healthy(service)
        client = stack.enter_context(httpx.Client(timeout=ANSWER_S, trust_env=False))
        live = Live(RunningSuite(suite.running["work-publisher"], base), folder / "data", client, EMBEDDED)
        tokens = {role: suite.tool("token", "--role", role, "--sub", sub).stdout.strip() for role, sub in ROLES.items()}
        yield Parties(**{role: Caller(live, sub, tokens[role]) for role, sub in ROLES.items()})
