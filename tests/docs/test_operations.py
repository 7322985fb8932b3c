"""The backup of the operations guide, and containers that keep their records."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.documents import READ_ALONG, STOPPED, blocks_of, text_of
from tests.docs.tried import loaded
from tests.e2e.conftest import StartSuite
from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import live_suite
from tests.e2e.parties import Caller, parties_of
from tests.parts.compose import container_environment, resolve_compose, run_services
from tests.parts.settings_table import SERVICES

KEPT = {"AEX_STORE_URL", "AEX_BUS_URL", "FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"}
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_documented_backup_is_restored_with_its_settlements(tmp_path: Path, start_suite: StartSuite) -> None:
    live = start_suite()
    parties = parties_of(live)
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    settled = until_settled(parties.finance, contract_id)
    live.running.process.terminate()
    assert live.running.wait() == 0
    (backup,) = [block.text for block in blocks_of(text_of(READ_ALONG[0])) if block.mark == STOPPED]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    completed = subprocess.run(
        ["bash", "-eu", "-c", backup],
        cwd=tmp_path,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert completed.returncode == 0, completed.stderr
    assert "\nseal " in completed.stdout
    with live_suite(tmp_path / "restored") as restored:
        finance = Caller(restored, parties.finance.id, parties.finance.token)  # the key is in the copy, too
        assert finance.read("settlement", f"/v1/settlements/{contract_id}") == settled
        assert restored.breakdowns() == []


def test_documented_key_signs_tokens(tmp_path: Path) -> None:
    (make_key,) = re.findall(r"`(openssl genpkey [^`]+)`", text_of(READ_ALONG[0]))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    completed = subprocess.run(
        ["bash", "-eu", "-c", f"{make_key}; AEX_KEY_FILE=key.pem aex token --role consumer --sub acme"],
        cwd=tmp_path,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stdout.count(".") == 2, completed.stderr


@pytest.fixture
def overridden(tmp_path: Path) -> dict[str, Any]:
    """The services of the compose file with the guide's file over it, as Docker Compose merges them."""
    (override,) = loaded(READ_ALONG[0], "yaml", "In containers")
    assert override.file == "docker-compose.override.yaml"
    file = tmp_path / "docker-compose.override.yaml"
    file.write_text(override.text, encoding="utf-8")
    services: dict[str, Any] = resolve_compose(Path(os.devnull), file)
    return services


def test_containers_with_the_override_use_no_emulators(overridden: dict[str, Any]) -> None:
    for service in (*SERVICES, "aex"):
        assert {name for name in KEPT if container_environment(overridden[service]).get(name)} == set()


def test_containers_with_the_override_keep_their_records_over_a_restart(
    overridden: dict[str, Any], tmp_path: Path
) -> None:
    with run_services(overridden, tmp_path) as (suite, parties):
        contract_id = contract(parties)
        deliver(parties, contract_id, GOOD)
        settled = until_settled(parties.finance, contract_id)
        assert {service: suite.stop(service) for service in SERVICES} == dict.fromkeys(SERVICES, 0)
        (key,) = (tmp_path / "data" / "keys").glob("*.pem")
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with run_services(overridden, tmp_path) as (suite, parties):
        assert parties.finance.read("settlement", f"/v1/settlements/{contract_id}") == settled
        assert deliver(parties, contract(parties), GOOD)["verdict"] == "passed"
        audit = suite.run_command("ledger", "verify", "--json")
        assert json.loads(audit.stdout)["transactions"] >= 1, audit.stderr
        dead_letters = suite.run_command("deadletters", "list", "--json")
        assert json.loads(dead_letters.stdout) == [], dead_letters.stderr
