"""What the compose file says works: its services run with just that, and do the main job from end to end.

As plain processes on the tests' emulators: no test here needs a container, and so none shows one.
"""

import json
import re
import stat
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.deploy.compose.composed import EMULATORS, composed
from tests.deploy.compose.running import Composed, running
from tests.deploy.cross_check import EXAMPLE, ROOT
from tests.deploy.declared import SERVICES
from tests.e2e.backend import Backend
from tests.e2e.jobs import GOOD, POOR, amounts, award, deliver, publish, until_settled
from tests.e2e.live import ANSWER_S, Live
from tests.e2e.parties import Caller, Parties
from tests.e2e.stores import until_in_the_books
from tests.emulators.emulators import Emulators
from tests.libs.cli.suites import RunningSuite

pytestmark = [pytest.mark.e2e, pytest.mark.emulator, pytest.mark.timeout(300)]
GUIDE = ROOT / "deploy" / "README.md"
ROLES = {"consumer": "acme", "agent": "bot", "finance": "fiona", "operator": "olga"}


ON_EMULATORS, IN_THE_VOLUME = "on the emulators", "in the volume"


def the_guides_override() -> str:
    """The file with which `deploy/README.md` has records and events kept in the volume, too."""
    found = re.findall(
        r"^```yaml\n(# docker-compose\.override\.ya?ml\n.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(found) == 1
    return str(found[0])


@pytest.fixture(scope="module", params=[ON_EMULATORS, IN_THE_VOLUME])
def suite(
    request: pytest.FixtureRequest, emulators: Emulators, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Composed]:
    """With `.env.example` as it is, but for one setting that shows that it is read."""
    folder, files = tmp_path_factory.mktemp("composed"), tmp_path_factory.mktemp("files")
    env_file, override = files / ".env", files / "docker-compose.override.yaml"
    env_file.write_text(f"{EXAMPLE.read_text(encoding='utf-8')}\nAEX_FEE_RATE=0.1\n", encoding="utf-8")
    override.write_text(the_guides_override(), encoding="utf-8")
    over = [override] if request.param == IN_THE_VOLUME else []
    with running(composed(env_file, *over)["services"], emulators, folder) as started:
        yield started
        assert {service: started.stop(service) for service in SERVICES} == dict.fromkeys(SERVICES, 0)
        assert [line for line in logged(started) if line["level"] in {"error", "critical"}] == []


def logged(suite: Composed) -> list[dict[str, Any]]:
    """What all services have said."""
    lines = [f"{service}: {line}" for service in SERVICES for line in suite.log(service).splitlines()]
    assert [line for line in lines if ": {" not in line] == [], "whatever they say is JSON"
    return [json.loads(line.partition(": ")[2]) for line in lines]


@pytest.fixture(scope="module")
def parties(suite: Composed) -> Iterator[Parties]:
    """One of each role, with the tokens that the documented command prints."""
    given = {name: value for name, value in suite.environment("settlement").items() if value}
    backend = Backend("composed", given)
    first = RunningSuite(suite.running["work-publisher"], suite.port_base)
    with httpx.Client(timeout=ANSWER_S, trust_env=False) as client:
        live = Live(first, suite.folder / "data", client, backend)
        yield Parties(**{role: Caller(live, sub, token(suite, role, sub)) for role, sub in ROLES.items()})


def token(suite: Composed, role: str, sub: str) -> str:
    told = suite.tool("token", "--role", role, "--sub", sub)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.count("\n") == 1, "the token alone"
    return told.stdout.strip()


def test_the_main_job_goes_from_end_to_end(suite: Composed, parties: Parties) -> None:
    assert suite.started[:2] == list(EMULATORS), "services wait until these are healthy"
    contract_id = award(parties, publish(parties)["work_id"])
    assert deliver(parties, contract_id, POOR)["verdict"] == "rejected"
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    settled = until_settled(parties.finance, contract_id)
    assert amounts(settled["cost"]) == ("0.40", "0.45", "0.00", "0.85")
    assert settled["cost"]["fee"] == "0.085", "AEX_FEE_RATE of the env file"


def test_everything_is_kept_where_the_compose_file_says_and_the_key_is_its_users_alone(
    suite: Composed, parties: Parties
) -> None:
    publish(parties)
    data, config = suite.folder / "data", suite.folder / "config"
    assert (data / "blobs" / "evaluation").is_dir()
    on_emulators = bool(suite.environment("settlement").get("AEX_STORE_URL"))
    assert (data / "work-publisher" / "store.sqlite3").exists() != on_emulators
    assert (data / "bus").exists() != on_emulators
    (key,) = (data / "keys").glob("*.pem")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert {path.name for path in suite.folder.iterdir()} == {"data", "config", *(f"{name}.log" for name in SERVICES)}
    assert list(config.iterdir()) == []


def test_operators_reach_the_stores_with_the_tool(suite: Composed, parties: Parties) -> None:
    contract_id = award(parties, publish(parties)["work_id"])
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id)
    until_in_the_books(parties.finance.live)
    audited = suite.tool("ledger", "verify", "--json")
    assert audited.returncode == 0, audited.stderr
    assert json.loads(audited.stdout)["transactions"] >= 1
    letters = suite.tool("deadletters", "list", "--json")
    assert letters.returncode == 0, letters.stderr
    assert json.loads(letters.stdout) == []
