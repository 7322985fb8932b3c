"""`aex rollups rebuild`: what differs from the journal is mended, beside whatever runs."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from aex_cli.main import call
from aex_runtime.clock import WallClock
from aex_runtime.leases import Leases
from aex_runtime.store.sqlite import SQLiteStore
from aex_settlement.handlers.journal.rebuild_projections import LEASE
from tests.services.settlement.audit.ledgers import BATCHES
from tests.services.settlement.commands.test_ledger import body, sql, verify, write


def rebuild(data_dir: Path, *more: str) -> int:
    return call(["rollups", "rebuild", "--data-dir", str(data_dir), *more])


def edit_a_rollup(data_dir: Path) -> None:
    with sql(data_dir) as connection:
        [(key,)] = connection.execute(
            "SELECT key FROM documents WHERE collection = 'settlement-rollups'"
            ' AND CAST(body AS TEXT) LIKE \'%"view":""%\''
        ).fetchall()
        value = body(connection, "settlement-rollups", key)
        value["days"][0][6] = "1"
        write(connection, "settlement-rollups", key, value)


def test_a_rollup_that_was_edited_is_found_and_made_anew(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_a_rollup(data_dir)
    code, told = verify(data_dir, capsys)
    assert (code, [each["code"] for each in told["findings"]]) == (1, ["projection_differs"])
    assert "aex rollups rebuild" in told["findings"][0]["detail"]

    assert rebuild(data_dir) == 0
    header, *rows, time = capsys.readouterr().out.splitlines()
    assert header == "projection\tbatches\tremoved"
    assert [row.split("\t")[:2] for row in rows] == [["accounts", str(BATCHES)], ["rollups", str(BATCHES)]]
    assert time.startswith("made anew in ")
    assert verify(data_dir, capsys)[0] == 0


def test_one_projection_is_made_anew_alone(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_a_rollup(data_dir)
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


def test_another_rebuild_under_way_is_told(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def begin() -> None:
        store = SQLiteStore(data_dir / "settlement" / "store.sqlite3")
        leases = Leases("settlement", store, WallClock(), "somebody")
        assert await leases.acquire(LEASE, timedelta(minutes=5))
        await store.close()

    asyncio.run(begin())
    code, line = refused(data_dir, capsys)
    assert code == 1
    assert "another rebuild" in line


def test_a_journal_that_is_not_in_order_is_not_projected(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sql(data_dir) as connection:
        connection.execute("DELETE FROM documents WHERE collection = 'settlement-transactions'")
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
