"""A story around a running suite of small services."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from aex_cli.commands.up import LAST_BASE
from aex_cli.demo.digits import require_package
from aex_cli.demo.expectations import NotAsTold
from aex_cli.demo.running import free_suite, while_up
from aex_cli.main import call
from aex_cli.suite.child import Launch
from aex_cli.suite.data_directory import open_data_directory
from aex_cli.suite.environment import suite_environment
from aex_cli.suite.lock import suite_lock
from aex_cli.suite.service_spec import ServiceSpec
from aex_cli.suite.supervisor import SuiteFailed
from aex_runtime.commandline.errors import UserError
from aex_runtime.commandline.output import complain
from tests.libs.cli.suites import ROOT, free_ports, sample_specs


@pytest.fixture
def specs() -> list[ServiceSpec]:
    return sample_specs(free_ports(2), "steady", "steady")


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    inherited = {**os.environ, "PYTHONPATH": str(ROOT)}
    return Launch(suite_environment(inherited, tmp_path, None), open_data_directory(tmp_path / ".aex").logs)


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.slow
async def test_the_story_happens_while_all_services_answer(specs: list[ServiceSpec], launch: Launch) -> None:
    async def story() -> list[int]:
        async with httpx.AsyncClient(trust_env=False) as http:
            return [(await http.get(f"{spec.url}/readyz")).status_code for spec in specs]

    assert await while_up(specs, launch, story, complain) == [200, 200]


@pytest.mark.slow
async def test_a_story_that_fails_stops_the_services_and_is_what_is_raised(
    specs: list[ServiceSpec], launch: Launch
) -> None:
    async def story() -> None:
        raise NotAsTold("nothing works")

    with pytest.raises(NotAsTold, match="nothing works"):
        await while_up(specs, launch, story, complain)


@pytest.mark.slow
async def test_a_service_that_does_not_start_ends_the_story_before_it_begins(launch: Launch) -> None:
    async def story() -> None:
        raise AssertionError("nothing was ready")

    with pytest.raises(SuiteFailed, match=r"broken-1 did not start"):
        await while_up(sample_specs(free_ports(2), "steady", "broken"), launch, story, complain)


@pytest.mark.slow
async def test_whoever_gives_the_story_up_leaves_no_service(specs: list[ServiceSpec], launch: Launch) -> None:
    begun = asyncio.Event()

    async def story() -> None:
        begun.set()
        await asyncio.sleep(60)

    told = asyncio.create_task(while_up(specs, launch, story, complain))
    await begun.wait()
    told.cancel()
    with pytest.raises(asyncio.CancelledError):
        await told


def test_taken_ports_are_passed_over() -> None:
    base = free_ports(4)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base + 2))
        taken.listen()
        chosen = free_suite(base)
        assert chosen[0].port > base
        assert [spec.port for spec in chosen] == list(range(chosen[0].port, chosen[0].port + 4))
    assert free_suite(base)[0].port == base


def test_without_free_ports_the_fix_is_named() -> None:
    with socket.socket() as taken:
        with suppress(OSError):  # somebody else has it: as good
            taken.bind(("127.0.0.1", LAST_BASE + 3))
            taken.listen()
        with pytest.raises(UserError, match=f"free from {LAST_BASE} on") as raised:
            free_suite(LAST_BASE)
    assert "--port-base" in raised.value.fix


def test_a_missing_package_is_named_with_the_fix() -> None:
    with pytest.raises(UserError, match="needs left-pad") as raised:
        require_package("no_such_module", "left-pad")
    assert raised.value.fix == "pip install 'aex-cli[demo]'"
    require_package("sklearn", "scikit-learn")


def test_a_directory_that_another_suite_holds_is_refused_with_the_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = open_data_directory(tmp_path / ".aex")
    with suite_lock(directory.lock, complain):
        assert call(["demo", "--data-dir", str(directory.root)]) == 2
    told = capsys.readouterr()
    assert f"already running on {directory.root}, held by process {os.getpid()}" in told.err
    assert "choose another --data-dir" in told.err
    assert told.out == ""
