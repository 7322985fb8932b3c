"""The four images as hardened containers, side by side on one volume, at the main job."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from aex_runtime.process import StopBounds
from tests.deploy.declared import SERVICES, url_variable
from tests.deploy.images.conftest import Images
from tests.deploy.images.dockerfile import path_of, read
from tests.deploy.images.rootfs import Container
from tests.e2e.jobs import GOOD, amounts, award, deliver, publish, until_settled, until_work
from tests.e2e.live import ANSWER_S, PLACES, Live
from tests.e2e.parties import Parties, parties_of
from tests.e2e.science import artifact, claim, claimed, dms_csv, science_contract, scores
from tests.libs.cli.suites import RunningSuite, eventually, free_ports

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a container a root file system of its own"),
    pytest.mark.skipif(
        shutil.which("tini") is None and not os.environ.get("CI"), reason="no tini: apt-get install tini"
    ),
]
USER = 10001
READY_S = 120.0
VALUES = scores()
SHARED_WORDS = """
def evaluate(input, output, metadata):
    wanted = set(input["reference"].lower().split())
    return len(wanted & set(output["text"].lower().split())) / len(wanted)
"""
ENDLESS = """
def evaluate(input, output, metadata):
    while True:
        pass
"""


@dataclass(frozen=True)
class Containers:
    """The containers by their services, and what reaches them as `aex up` would be reached."""

    of: dict[str, Container]
    live: Live
    folder: Path

    def log(self, service: str) -> str:
        """What a container has said."""
        return (self.folder / f"{service}.log").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def containers(images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    folder = tmp_path_factory.mktemp("containers")
    data = folder / "data"
    data.mkdir(mode=0o700)
    os.chown(data, USER, USER)
    base = free_ports(len(SERVICES))
    urls = {url_variable(name): f"http://127.0.0.1:{base + place}" for name, place in PLACES.items()}
    with ExitStack() as stack, httpx.Client(timeout=ANSWER_S, trust_env=False) as client:
        started = {}
        for name, place in PLACES.items():
            further = {**urls, "AEX_PORT": str(base + place)}
            started[name] = stack.enter_context(images(name).started(data, folder / f"{name}.log", further))
        live = Live(RunningSuite(started["settlement"].outer, base), data, client)
        found = Containers(started, live, folder)
        for name in SERVICES:
            assert eventually(partial(_is_ready, live, name), READY_S), found.log(name)
        yield found


@pytest.fixture
def parties(containers: Containers) -> Parties:
    return parties_of(containers.live)


def _is_ready(live: Live, service: str) -> bool:
    try:
        return live.http.get(live.url(service, "/readyz")).is_success
    except httpx.TransportError:
        return False


def health_check(service: str) -> list[str]:
    said = read(path_of(service).read_text(encoding="utf-8")).final.last("HEALTHCHECK").rest
    return [word.strip('",[] ') for word in said.removeprefix("CMD ").split(",")]


@pytest.mark.parametrize("service", SERVICES)
def test_the_images_own_health_check_finds_its_service_well(containers: Containers, service: str) -> None:
    checked = containers.of[service].run_beside(health_check(service))
    assert (checked.returncode, checked.stdout) == (0, '/healthz: 200 {"status":"alive"}\n'), checked.stderr
    ready = containers.of[service].run_beside([*health_check(service), "/readyz"])
    assert ready.returncode == 0, ready.stdout


@pytest.mark.parametrize("service", SERVICES)
def test_it_runs_without_any_right_and_can_write_nowhere_but_where_it_is_said(
    containers: Containers, service: str
) -> None:
    left_out = " -o ".join(f"-path {place}" for place in ("/proc", "/dev", "/data", "/tmp", "/usr", "/etc"))  # noqa: S108
    writable = f"find / \\( {left_out} \\) -prune -o -writable -not -type l -print 2>/dev/null"
    found = containers.of[service].run_beside(
        ["sh", "-c", f"grep -E '^(Uid|CapBnd|NoNewPrivs)' /proc/1/status; {writable}"]
    )
    uid, bounding, no_new, *places = found.stdout.splitlines()
    assert uid.split()[1:] == [str(USER)] * 4
    assert int(bounding.split()[1], 16) == 0
    assert no_new.split()[1] == "1"
    assert places == [], "but /data and /tmp, which are mounts of their own; /usr and /etc are this machine's"
    assert containers.of[service].run_beside(["touch", "/data/written", "/tmp/written"]).returncode == 0  # noqa: S108 its own


def test_a_work_is_published_verified_and_settled(parties: Parties) -> None:
    contract_id = award(parties, publish(parties)["work_id"])
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    assert amounts(until_settled(parties.finance, contract_id)["cost"])[0] == "0.40"


def test_confined_workers_read_raw_data_from_a_file_system_in_memory(parties: Parties) -> None:
    contract_id = science_contract(parties)
    honest = claimed(sum(VALUES) / len(VALUES))
    assert claim(parties, contract_id, {"mean_fitness": 11.17}, artifact(dms_csv(VALUES)))["verdict"] == "rejected"
    assert claim(parties, contract_id, {"mean_fitness": honest}, artifact(dms_csv(VALUES)))["verdict"] == "passed"


def test_a_consumers_own_code_is_tried_and_run(parties: Parties) -> None:
    work = _published_with(parties, SHARED_WORDS, "open")
    assert deliver(parties, award(parties, work), GOOD)["verdict"] == "passed"


def test_endless_code_is_stopped_under_a_confinement_that_lacks_nothing(
    containers: Containers, parties: Parties
) -> None:
    _published_with(parties, ENDLESS, "refused")
    assert "confinement_degraded" not in containers.log("verification")


def test_what_a_killed_worker_leaves_behind_is_buried(containers: Containers, parties: Parties) -> None:
    first = psutil.Process(containers.of["verification"].pid)
    _published_with(parties, SHARED_WORDS, "open")  # what ran it stays warm
    [interpreter] = [each for each in first.children(recursive=True) if each.name() == "monty"]
    worker = interpreter.parent()
    assert worker is not None
    worker.kill()
    assert eventually(lambda: not interpreter.is_running()), f"the interpreter is {interpreter.status()}"


def test_the_operators_image_mints_tokens_and_audits_the_ledger(
    containers: Containers, images: Images, tmp_path: Path
) -> None:
    command, log = images("aex-cli"), tmp_path / "log"
    data = containers.live.data_dir
    folder = command.final.last("WORKDIR").rest
    minting = ["aex", "token", "--role", "finance", "--sub", "fiona"]
    with command.files.container(minting, folder, command.environment({}), data, log) as minted:
        assert minted.outer.wait(60) == 0, log.read_text()
    token = log.read_text().strip()
    answer = containers.live.http.get(
        containers.live.url("settlement", "/v1/settlements"), headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200, answer.text
    auditing = ["aex", "ledger", "verify"]
    with command.files.container(auditing, folder, command.environment({}), data, log) as audited:
        assert audited.outer.wait(60) == 0, log.read_text()


@pytest.mark.parametrize("service", SERVICES)
def test_asked_to_stop_it_stops_within_its_bounds(containers: Containers, service: str) -> None:
    """The last of them: from here on nothing runs."""
    container = containers.of[service]
    os.kill(container.pid, signal.SIGTERM)
    assert container.outer.wait(StopBounds().hard_exit_s) == 0, containers.log(service)


def _published_with(parties: Parties, code: str, status: str) -> str:
    criterion = {"metric": "custom.mine", "metric_type": "numeric", "comparison": "gte", "threshold": 0.5}
    work = publish(
        parties,
        evaluation={"reference": GOOD, "custom_metrics": [{"name": "mine", "code": code}]},
        success_criteria={"criteria": [{**criterion, "bonus": "0.20", "penalty": "0.05"}]},
    )
    return str(until_work(parties.consumer, work["work_id"], status)["work_id"])
