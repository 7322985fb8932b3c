"""`aex rollups rebuild`: what differs from the journal is mended, beside whatever runs."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from aex_cli.main import run_command_line
from aex_runtime.clock import WallClock
from aex_runtime.generations import LEASE
from aex_runtime.leases import Leases
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.settlement.audit.ledgers import BATCHES
from tests.services.settlement.audit.test_projections import CASES
from tests.services.settlement.audit.test_tampered_ledgers import CASES as AUDIT_CASES
from tests.services.settlement.commands.test_ledger import tamper, verify


def rebuild(data_dir: Path, *more: str) -> int:
    return run_command_line(["rollups", "rebuild", "--data-dir", str(data_dir), *more])


def test_edited_rollup_is_found_and_rebuilt(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(data_dir, CASES["rollup edited"][0])
    code, logged = verify(data_dir, capsys)
    assert (code, [each["code"] for each in logged["findings"]]) == (1, ["projection_differs"])
    assert "aex rollups rebuild" in logged["findings"][0]["detail"]

    assert rebuild(data_dir) == 0
    header, *rows, time = capsys.readouterr().out.splitlines()
    assert header == "projection\tbatches\tremoved"
    assert [row.split("\t")[:2] for row in rows] == [["accounts", str(BATCHES)], ["rollups", str(BATCHES)]]
    assert time.startswith("rebuilt in ")
    assert verify(data_dir, capsys)[0] == 0


def test_one_projection_is_rebuilt_by_command(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(data_dir, CASES["rollup edited"][0])
    assert rebuild(data_dir, "--only", "accounts", "--json") == 0
    assert [each["projection"] for each in json.loads(capsys.readouterr().out)["projections"]] == ["accounts"]
    assert verify(data_dir, capsys)[0] == 1
    assert rebuild(data_dir, "--only", "rollups") == 0
    capsys.readouterr()
    assert verify(data_dir, capsys)[0] == 0


def refused(data_dir: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    code = rebuild(data_dir, *more)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err


def test_concurrent_rebuild_is_refused(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def begin() -> None:
        store = SQLiteStore(data_dir / "settlement" / "store.sqlite3")
        leases = Leases("settlement", store, WallClock(), "other")
        assert await leases.acquire(LEASE, timedelta(minutes=5))
        await store.close()

    asyncio.run(begin())
    code, line = refused(data_dir, capsys)
    assert code == 1
    assert "another rebuild" in line


def test_a_journal_that_is_not_in_order_is_not_projected(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(data_dir, AUDIT_CASES["transaction removed"][0])
    code, line = refused(data_dir, capsys)
    assert code == 1
    assert "aex ledger verify" in line


def test_mistakes_are_bad_input(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(data_dir, capsys, "--only", "balances")[0] == 2
    assert refused(tmp_path / "nowhere", capsys)[0] == 2
    (tmp_path / "empty").mkdir()
    code, line = refused(tmp_path / "empty", capsys)
    assert code == 2
    assert "aex up" in line
