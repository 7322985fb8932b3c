"""The command `aex profiles rebuild`, beside a running service and after kills."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from aex_cli.main import run_command_line
from aex_governance.repository import read_projection_generations
from aex_runtime.clock import WallClock
from aex_runtime.files import ensure_data_dir
from aex_runtime.generations import LEASE
from aex_runtime.leases import Leases
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.e2e.live import clean_environment
from tests.services.governance.process import open_process
from tests.services.governance.rebuild.live import live_through
from tests.services.governance.rebuild.recount import check_complete

CONTRACTS = 20


def store_file(data_dir: Path) -> Path:
    return data_dir / "governance" / "store.sqlite3"


def on_the_store(data_dir: Path, work: Callable[[Store], Awaitable[object]]) -> None:
    async def do() -> None:
        store = SQLiteStore(store_file(data_dir))
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(do())


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return the data directory of a suite with a log of governance."""
    folder = ensure_data_dir(tmp_path / "data")
    on_the_store(folder, lambda store: live_through(open_process(store), 0, CONTRACTS))
    return folder


def rebuild(data_dir: Path, *more: str) -> int:
    return run_command_line(["profiles", "rebuild", "--data-dir", str(data_dir), *more])


def spoil(data_dir: Path) -> None:
    with closing(sqlite3.connect(store_file(data_dir))) as connection, connection:
        connection.execute("DELETE FROM documents WHERE collection IN ('governance-profiles', 'governance-bands')")


def test_deleted_projections_are_rebuilt_with_a_report_in_each_format(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(data_dir)
    assert rebuild(data_dir) == 0
    header, *rows, last = capsys.readouterr().out.splitlines()
    assert header == "log\tread\tcounted\tcounted_before"
    assert rows == [f"{log}\t{CONTRACTS}\t{CONTRACTS}\t0" for log in ("validations", "outcomes")]
    assert re.fullmatch(r"rebuilt in \d+\.\d s; \d+ old documents removed", last)
    on_the_store(data_dir, check_complete)
    assert rebuild(data_dir, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    row = {"read": CONTRACTS, "counted": CONTRACTS, "counted_before": 0}
    assert report.pop("seconds") > 0
    assert report.pop("removed") > 0
    logs = [{"log": "validations", **row}, {"log": "outcomes", **row}]
    assert report == {"generation": 3, "logs": logs, "resumed": False}
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert rebuild(data_dir) == 0
    captured = capsys.readouterr()
    assert "validations" in captured.err
    assert "outcomes" in captured.err
    assert "┃" in captured.out


def refused(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = rebuild(data_dir)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err


def test_concurrent_rebuild_is_refused(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def begin(store: Store) -> None:
        assert await Leases("governance", store, WallClock(), "other").acquire(LEASE, timedelta(minutes=5))

    on_the_store(data_dir, begin)
    code, line = refused(data_dir, capsys)
    assert code == 1
    assert "another rebuild" in line


def test_missing_data_is_refused_and_no_file_is_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(tmp_path / "nowhere", capsys)[0] == 2
    code, line = refused(tmp_path, capsys)
    assert code == 2
    assert "aex up" in line
    assert list(tmp_path.iterdir()) == []


def test_unreadable_store_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.sqlite3").write_text("this is no database")
    monkeypatch.setenv("AEX_STORE_URL", f"sqlite:///{tmp_path}/store.sqlite3")
    code, line = refused(tmp_path, capsys)
    assert code == 1
    assert "governance" in line


@pytest.mark.slow
def test_killed_rebuild_is_resumed_beside_a_running_service(data_dir: Path) -> None:
    asyncio.run(_kill_repeatedly(data_dir))


async def _kill_repeatedly(data_dir: Path) -> None:
    store = SQLiteStore(store_file(data_dir))
    service = open_process(store)
    await live_through(service, 100, 150)
    writing = asyncio.create_task(live_through(service, 1_000, 1_060))
    kills = 0
    for _ in range(20):  # a rebuild that ends before it is killed counts for nothing
        process = _start_rebuild(data_dir)
        while (await read_projection_generations(store)).building is None and process.poll() is None:  # noqa: ASYNC110 another process
            await asyncio.sleep(0.002)
        process.kill()
        kills += await asyncio.to_thread(process.wait) == -signal.SIGKILL
        _expire_lease(data_dir)
        if kills == 2:
            break
    await writing
    assert await asyncio.to_thread(_start_rebuild(data_dir).wait) == 0
    await check_complete(store)
    assert kills == 2
    await store.close()


def _start_rebuild(data_dir: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "aex_cli", "profiles", "rebuild", "--data-dir", str(data_dir)]
    return subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _expire_lease(data_dir: Path) -> None:
    with closing(sqlite3.connect(store_file(data_dir), timeout=30)) as connection, connection:
        connection.execute(
            "UPDATE documents SET body ="
            " CAST(json_set(CAST(body AS TEXT), '$.expires_at', '1970-01-01T00:00:00Z') AS BLOB)"
            " WHERE collection = 'governance-leases'"
        )


def test_command_is_an_entry_point_with_help(capsys: pytest.CaptureFixture[str]) -> None:
    named = {each.name: each.value for each in entry_points(group="aex.commands")}
    assert named["profiles"] == "aex_governance.commands.profiles:app"
    assert run_command_line(["profiles", "rebuild", "--help"]) == 0
    assert "--json" in capsys.readouterr().out
