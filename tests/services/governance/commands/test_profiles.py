"""`aex profiles rebuild`: what the rules remember is made anew from the log, beside whatever runs."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from aex_cli.main import call
from aex_governance.handlers.rebuild.rebuild_projections import LEASE
from aex_governance.repository.projections import read_head
from aex_runtime.clock import WallClock
from aex_runtime.leases import Leases
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.e2e.live import clean_environment
from tests.services.governance.commands.conftest import CONTRACTS, on_the_store, store_file
from tests.services.governance.kit import desk_over
from tests.services.governance.rebuild.live import live_through
from tests.services.governance.rebuild.recount import check_whole


def rebuild(data_dir: Path, *more: str) -> int:
    return call(["profiles", "rebuild", "--data-dir", str(data_dir), *more])


def spoil(data_dir: Path) -> None:
    with closing(sqlite3.connect(store_file(data_dir))) as connection, connection:
        connection.execute("DELETE FROM documents WHERE collection IN ('governance-profiles', 'governance-bands')")


def test_what_was_spoilt_is_made_anew(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(data_dir)
    assert rebuild(data_dir) == 0
    header, *rows, last = capsys.readouterr().out.splitlines()
    assert header == "log\tread\tcounted\tcounted_before"
    assert rows == [f"{log}\t{CONTRACTS}\t{CONTRACTS}\t0" for log in ("validations", "outcomes")]
    assert re.fullmatch(r"made anew in \d+\.\d s; \d+ documents of before removed", last)
    on_the_store(data_dir, check_whole)


def test_as_json_it_is_one_object(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rebuild(data_dir, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    row = {"read": CONTRACTS, "counted": CONTRACTS, "counted_before": 0}
    assert told.pop("seconds") > 0
    assert told.pop("removed") > 0
    assert told == {
        "generation": 2,
        "logs": [{"log": "validations", **row}, {"log": "outcomes", **row}],
        "resumed": False,
    }


def test_on_a_terminal_a_bar_tells_how_far_it_is(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert rebuild(data_dir) == 0
    captured = capsys.readouterr()
    assert "validations" in captured.err
    assert "outcomes" in captured.err
    assert "┃" in captured.out


def refused(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the one line on stderr."""
    code = rebuild(data_dir)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err


def test_another_rebuild_under_way_is_told(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def begin(store: Store) -> None:
        assert await Leases("governance", store, WallClock(), "somebody").acquire(LEASE, timedelta(minutes=5))

    on_the_store(data_dir, begin)
    code, line = refused(data_dir, capsys)
    assert code == 1
    assert "another rebuild" in line


def test_where_there_is_nothing_that_is_said_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(tmp_path / "nowhere", capsys)[0] == 2
    code, line = refused(tmp_path, capsys)
    assert code == 2
    assert "aex up" in line
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_does_not_answer_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.sqlite3").write_text("this is no database")
    monkeypatch.setenv("AEX_STORE_URL", f"sqlite:///{tmp_path}/store.sqlite3")
    code, line = refused(tmp_path, capsys)
    assert code == 1
    assert "governance" in line


@pytest.mark.slow
def test_beside_a_service_that_goes_on_killed_and_begun_again_it_leaves_nothing_out(data_dir: Path) -> None:
    """The command as a process of its own, killed at odd moments, while another one writes to the same file."""
    asyncio.run(_killed_again_and_again(data_dir))


async def _killed_again_and_again(data_dir: Path) -> None:
    store = SQLiteStore(store_file(data_dir))
    service = desk_over(store)
    await live_through(service, 100, 200)
    writing = asyncio.create_task(live_through(service, 1_000, 1_200))
    kills = 0
    for pause_s in (0.0, 0.02, 0.05, 0.1):
        process = _begun(data_dir)
        while (await read_head(store)).building is None and process.poll() is None:  # noqa: ASYNC110 another process
            await asyncio.sleep(0.002)
        await asyncio.sleep(pause_s)
        process.kill()
        kills += await asyncio.to_thread(process.wait) == -signal.SIGKILL
        _let_the_lease_end(data_dir)
    await writing
    assert await asyncio.to_thread(_begun(data_dir).wait) == 0
    await check_whole(store)
    assert kills > 0
    await store.close()


def _begun(data_dir: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "aex_cli", "profiles", "rebuild", "--data-dir", str(data_dir)]
    return subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _let_the_lease_end(data_dir: Path) -> None:
    """As half a minute would."""
    with closing(sqlite3.connect(store_file(data_dir), timeout=30)) as connection, connection:
        connection.execute(
            "UPDATE documents SET body ="
            " CAST(json_set(CAST(body AS TEXT), '$.expires_at', '1970-01-01T00:00:00Z') AS BLOB)"
            " WHERE collection = 'governance-leases'"
        )


def test_the_command_is_an_entry_point_and_its_help_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    named = {each.name: each.value for each in entry_points(group="aex.commands")}
    assert named["profiles"] == "aex_governance.commands.profiles:app"
    assert call(["profiles", "rebuild", "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.slow
def test_the_service_runs_without_what_the_command_line_needs() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys, aex_governance.main; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"typer", "aex_runtime.commandline", "aex_governance.commands"} & set(told.stdout.split())
