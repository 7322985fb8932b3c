import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from aex_cli.demo.digits import require_package
from aex_cli.demo.run import StorageSummary, describe_storage, plan_suite_on_free_ports, run_with_suite
from aex_cli.demo.steps import DemoFailed
from aex_cli.main import run_command_line
from aex_cli.suite.child import Launch
from aex_cli.suite.data_directory import lock_data_directory, prepare_data_directory
from aex_cli.suite.service_spec import LAST_BASE, build_suite_environment
from aex_runtime.commandline import UserError, print_error
from aex_runtime.settings import RuntimeSettings
from tests.libs.cli.suites import ROOT, free_ports, sample_specs

EMULATORS = {
    "firestore_emulator_host": "127.0.0.1:1",
    "pubsub_emulator_host": "127.0.0.1:2",
    "storage_emulator_host": "http://127.0.0.1:3",
}


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    inherited = {**os.environ, "PYTHONPATH": str(ROOT)}
    return Launch(
        build_suite_environment(inherited, tmp_path, None), prepare_data_directory(tmp_path / ".aex") / "logs"
    )


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.slow
async def test_action_runs_while_all_services_answer(launch: Launch) -> None:
    specs = sample_specs(free_ports(2), "steady", "steady")

    async def story() -> list[int]:
        async with httpx.AsyncClient(trust_env=False) as http:
            return [(await http.get(f"{spec.url}/readyz")).status_code for spec in specs]

    assert await run_with_suite(specs, launch, story, print_error) == [200, 200]


@pytest.mark.slow
async def test_failed_action_stops_the_services_and_is_raised(launch: Launch) -> None:
    async def story() -> None:
        raise DemoFailed("nothing works")

    with pytest.raises(DemoFailed, match="nothing works"):
        await run_with_suite(sample_specs(free_ports(1), "steady"), launch, story, print_error)


@pytest.mark.slow
async def test_cancelled_action_leaves_no_service(launch: Launch) -> None:
    begun = asyncio.Event()

    async def story() -> None:
        begun.set()
        await asyncio.Event().wait()

    specs = sample_specs(free_ports(1), "steady")
    printed = asyncio.create_task(run_with_suite(specs, launch, story, print_error))
    await begun.wait()
    printed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await printed


def test_taken_ports_are_skipped() -> None:
    base = free_ports(4)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base + 2))
        taken.listen()
        chosen = plan_suite_on_free_ports(base)
        assert chosen[0].port > base
        assert [spec.port for spec in chosen] == list(range(chosen[0].port, chosen[0].port + 4))
    assert plan_suite_on_free_ports(base)[0].port == base


def test_missing_ports_are_reported_with_the_fix() -> None:
    with socket.socket() as taken:
        with suppress(OSError):  # the port is in use already
            taken.bind(("127.0.0.1", LAST_BASE + 3))
            taken.listen()
        with pytest.raises(UserError, match=f"free from {LAST_BASE} on") as raised:
            plan_suite_on_free_ports(LAST_BASE)
    assert "--port-base" in raised.value.fix


def test_missing_package_is_named_with_the_fix() -> None:
    with pytest.raises(UserError, match="needs left-pad") as raised:
        require_package("no_such_module", "left-pad")
    assert raised.value.fix == "pip install 'aex-cli[demo]'"
    require_package("sklearn", "scikit-learn")


def test_directory_of_a_running_suite_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = prepare_data_directory(tmp_path / ".aex")
    with lock_data_directory(directory, print_error):
        assert run_command_line(["demo", "--data-dir", str(directory)]) == 2
    printed = capsys.readouterr()
    assert f"already running on {directory}, held by process {os.getpid()}" in printed.err
    assert "choose another --data-dir" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("settings", "description", "retention"),
    [
        ({}, "data in my data", "the data stay"),
        (
            {"store_url": "firestore://p", "bus_url": "pubsub://p", "blobs_url": "gs://b"},
            "records in firestore://p, events in pubsub://p, blobs in gs://b",
            "the data stay",
        ),
        (
            {"store_url": "firestore://p", "bus_url": "pubsub://p", **EMULATORS},
            "records in firestore://p on the emulator 127.0.0.1:1, events in pubsub://p on the emulator 127.0.0.1:2, "
            "blobs in my data",
            "records and events stay as long as the emulators run",
        ),
        (
            {"store_url": "sqlite:////s", **EMULATORS},
            "records in sqlite:////s, events in my data, blobs in my data",
            "the data stay",
        ),
    ],
)
def test_storage_is_described_by_kind_and_emulator(settings: dict[str, str], description: str, retention: str) -> None:
    found = describe_storage(RuntimeSettings.model_validate(settings), Path("my data"), {"HOME": "/root"})
    assert found == StorageSummary(description, retention, None)


def test_exports_name_the_storage_in_any_shell() -> None:
    environ = {
        "AEX_STORE_URL": "firestore://p",
        "AEX_KEY_FILE": "/my keys/one",
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1",
        "PUBSUB_EMULATOR_HOST": "",
        "AEX_LOG_LEVEL": "debug",
    }
    exports = describe_storage(RuntimeSettings(), Path("my data"), environ).exports
    assert exports == (
        "export FIRESTORE_EMULATOR_HOST=127.0.0.1:1 AEX_STORE_URL=firestore://p AEX_KEY_FILE='/my keys/one'"
    )
    emulators_alone = {"FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"}
    assert describe_storage(RuntimeSettings(), Path("my data"), emulators_alone).exports is None
