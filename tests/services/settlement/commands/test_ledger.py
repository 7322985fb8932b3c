"""`aex ledger verify`, on a file that somebody changed with SQL."""

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from aex_cli.main import call
from aex_runtime.store.keys import key_of
from aex_settlement.rules.ids import settlement_transaction_id
from tests.services.settlement.audit.ledgers import BATCHES, TRANSACTIONS, adjust, next_day
from tests.services.settlement.commands.conftest import at_the_desk
from tests.services.settlement.desk import Desk

CTR_3 = settlement_transaction_id("ctr_3", 1)
BY_KEY = "collection = ? AND key = ?"


@contextmanager
def sql(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """The service's file, past the service."""
    with closing(sqlite3.connect(data_dir / "settlement" / "store.sqlite3")) as connection, connection:
        yield connection


def body(connection: sqlite3.Connection, collection: str, key: str) -> Any:
    """The JSON of a document."""
    found = connection.execute(f"SELECT body FROM documents WHERE {BY_KEY}", (collection, key))  # noqa: S608
    return json.loads(found.fetchone()[0])


def write(connection: sqlite3.Connection, collection: str, key: str, value: Any) -> bytes:
    """Set the JSON of a document, in canonical form."""
    made = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    changed = connection.execute(f"UPDATE documents SET body = ? WHERE {BY_KEY}", (made, collection, key))  # noqa: S608
    assert changed.rowcount == 1
    return made


def alter_amount(connection: sqlite3.Connection) -> str:
    """Another amount in a transaction; its digest now."""
    key = key_of(CTR_3)
    value = body(connection, "settlement-transactions", key)
    value["postings"][0]["amount"] -= 5
    value["postings"][1]["amount"] += 5
    return hashlib.sha256(write(connection, "settlement-transactions", key, value)).hexdigest()


def reseal(connection: sqlite3.Connection, seq: int, digest: str, *, rehash: bool) -> None:
    """Put the digest of the altered transaction into its batch."""
    value = body(connection, "settlement-batches", f"{seq:012d}")
    for each in value["transactions"]:
        if each["id"] == CTR_3:
            each["digest"] = digest
    if rehash:
        sealed = {
            "seq": value["seq"],
            "sealed_at": value["sealed_at"].replace("Z", "+00:00"),
            "transactions": [[each["id"], each["digest"]] for each in value["transactions"]],
            "previous_hash": value["previous_hash"],
        }
        text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
        value["hash"] = hashlib.sha256(text.encode()).hexdigest()
    write(connection, "settlement-batches", f"{seq:012d}", value)


def remove(connection: sqlite3.Connection) -> None:
    connection.execute(f"DELETE FROM documents WHERE {BY_KEY}", ("settlement-transactions", key_of(CTR_3)))  # noqa: S608


def add(connection: sqlite3.Connection) -> None:
    """The same transaction once more, under an id of its own."""
    value = body(connection, "settlement-transactions", key_of(CTR_3))
    value["id"] = "txn_forged"
    connection.execute(
        "INSERT INTO documents (collection, key, version, fields, body)"
        " SELECT collection, ?, version, fields, ? FROM documents WHERE key = ? AND collection = ?",
        (key_of("txn_forged"), json.dumps(value).encode(), key_of(CTR_3), "settlement-transactions"),
    )


def cut_tail(connection: sqlite3.Connection) -> None:
    """The last batch goes with its transactions and their settlement; head and watermarks say so."""
    last, before = (body(connection, "settlement-batches", f"{seq:012d}") for seq in (BATCHES, BATCHES - 1))
    gone = [("settlement-batches", f"{BATCHES:012d}"), ("settlement-settlements", key_of("ctr_4"))]
    gone += [("settlement-transactions", key_of(each["id"])) for each in last["transactions"]]
    connection.executemany(f"DELETE FROM documents WHERE {BY_KEY}", gone)  # noqa: S608
    mark = {"seq": before["seq"], "sealed_at": before["sealed_at"]}
    write(connection, "settlement-journal-head", "head", mark | {"hash": before["hash"]})
    for name in ("accounts", "rollups"):
        state = body(connection, "settlement-projections", name)
        write(connection, "settlement-projections", name, state | mark)


def verify(data_dir: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    """The exit code and the JSON."""
    capsys.readouterr()  # what the test itself did before
    code = call(["ledger", "verify", "--data-dir", str(data_dir), "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_a_sound_ledger_exits_with_0_and_prints_its_seal_last(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["ledger", "verify", "--data-dir", str(data_dir)]) == 0
    captured = capsys.readouterr()
    counts, seal = captured.out.splitlines()
    assert counts.startswith(f"{BATCHES} batches, {TRANSACTIONS} transactions and 4 settlements in ")
    assert seal.startswith(f"seal {BATCHES}:")
    assert "no seal was known" in captured.err

    assert call(["ledger", "verify", "--data-dir", str(data_dir), "--seal", seal.removeprefix("seal ")]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1] == seal


ALTERED: dict[str, tuple[Callable[[sqlite3.Connection], object], tuple[str, str]]] = {
    "altered": (alter_amount, ("transaction_altered", CTR_3)),
    "altered, with its digest": (
        lambda connection: reseal(connection, 3, alter_amount(connection), rehash=False),
        ("batch_altered", "batch 3"),
    ),
    "altered, with digest and hash": (
        lambda connection: reseal(connection, 3, alter_amount(connection), rehash=True),
        ("chain_broken", "batch 4"),
    ),
    "removed": (remove, ("transaction_missing", CTR_3)),
    "added": (add, ("transaction_added", "txn_forged")),
}


@pytest.mark.parametrize("case", ALTERED)
def test_what_was_done_with_sql_is_named_and_the_exit_code_is_1(
    case: str, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper, expected = ALTERED[case]
    with sql(data_dir) as connection:
        tamper(connection)
    code, told = verify(data_dir, capsys)
    assert code == 1
    assert not told["ok"]
    assert expected in {(each["code"], each["subject"]) for each in told["findings"]}
    assert told["findings_total"] == len(told["findings"])

    assert call(["ledger", "verify", "--data-dir", str(data_dir)]) == 1
    captured = capsys.readouterr()
    header, *rows = captured.out.splitlines()
    assert header == "code\tsubject\tdetail"
    assert any(row.startswith("\t".join(expected)) for row in rows)
    assert "finding" in captured.err


def test_a_ledger_whose_journal_is_gone_is_not_taken_for_a_new_one(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sql(data_dir) as connection:
        connection.execute(
            "DELETE FROM documents WHERE collection IN ('settlement-batches', 'settlement-journal-head')"
        )
    assert not (data_dir / "settlement" / "ledger-seal.json").exists()
    code, told = verify(data_dir, capsys)
    assert (code, told["seal"], told["first_broken_link"]) == (1, None, 1)
    found = {(each["code"], each["subject"]) for each in told["findings"]}
    assert {("head_wrong", "the journal's head"), ("batch_missing", "batch 1"), ("transaction_added", CTR_3)} <= found


def test_the_last_good_seal_is_kept_for_the_owner_alone_and_finds_a_cut_tail(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = verify(data_dir, capsys)
    assert code == 0
    kept = data_dir / "settlement" / "ledger-seal.json"
    assert json.loads(kept.read_text()) == told["seal"]
    assert kept.stat().st_mode & 0o777 == 0o600

    with sql(data_dir) as connection:
        cut_tail(connection)
    code, told = verify(data_dir, capsys)
    assert code == 1
    assert ("seal_missing", f"batch {BATCHES}") in {(each["code"], each["subject"]) for each in told["findings"]}
    assert json.loads(kept.read_text())["seq"] == BATCHES


def test_the_kept_seal_moves_on_with_the_journal(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify(data_dir, capsys)

    async def more(desk: Desk) -> None:
        await adjust(desk)
        await next_day(desk)

    at_the_desk(data_dir, more)
    code, told = verify(data_dir, capsys)
    assert (code, told["seal"]["seq"]) == (0, BATCHES + 1)
    assert json.loads((data_dir / "settlement" / "ledger-seal.json").read_text()) == told["seal"]


def test_a_seal_of_another_ledger_is_a_finding(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = verify(data_dir, capsys, "--seal", f"2:{'ab' * 32}")
    assert code == 1
    assert [(each["code"], each["subject"]) for each in told["findings"]] == [("seal_differs", "batch 2")]
    assert told["first_broken_link"] == 2


def test_what_waits_is_listed_and_no_finding(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at_the_desk(data_dir, adjust)
    code, told = verify(data_dir, capsys)
    assert (code, told["waiting"], len(told["first_waiting"])) == (0, 1, 1)
    assert call(["ledger", "verify", "--data-dir", str(data_dir)]) == 0
    assert f"1 wait to be sealed: {told['first_waiting'][0]}" in capsys.readouterr().out


def mistaken(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the one line on stderr."""
    code = call(["ledger", "verify", *arguments])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err


@pytest.mark.parametrize(
    "seal", ["", "7", "7:abc", f"0:{'a' * 64}", f"-1:{'a' * 64}", f"x:{'a' * 64}", "7:" + "G" * 64]
)
def test_a_malformed_seal_is_bad_input(seal: str, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = mistaken(["--data-dir", str(data_dir), f"--seal={seal}"], capsys)
    assert code == 2
    assert "--seal" in line


def test_where_there_is_no_ledger_that_is_said_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mistaken(["--data-dir", str(tmp_path / "nowhere")], capsys)[0] == 2
    code, line = mistaken(["--data-dir", str(tmp_path)], capsys)
    assert code == 2
    assert "aex up" in line
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_was_sealed_yet_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at_the_desk(tmp_path, lambda desk: desk.deps.store.ping())
    code, line = mistaken(["--data-dir", str(tmp_path)], capsys)
    assert code == 2
    assert "nothing was sealed" in line


def test_a_ledger_that_is_gone_is_no_bad_input(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify(data_dir, capsys)
    for file in (data_dir / "settlement").glob("store.sqlite3*"):
        file.unlink()
    code, line = mistaken(["--data-dir", str(data_dir)], capsys)
    assert code == 1
    assert "gone" in line


def test_a_kept_seal_that_was_changed_into_something_else_is_named(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_dir / "settlement" / "ledger-seal.json").write_text("{}")
    code, line = mistaken(["--data-dir", str(data_dir)], capsys)
    assert code == 2
    assert "ledger-seal.json" in line


def test_a_store_that_does_not_answer_says_nothing_about_the_books(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.sqlite3").write_text("this is no database")
    monkeypatch.setenv("AEX_STORE_URL", f"sqlite:///{tmp_path}/store.sqlite3")
    code, line = mistaken(["--data-dir", str(tmp_path)], capsys)
    assert code == 3
    assert "settlement" in line


@pytest.mark.slow
def test_the_command_itself_finds_it(data_dir: Path) -> None:
    with sql(data_dir) as connection:
        alter_amount(connection)
    result = subprocess.run(
        [sys.executable, "-m", "aex_cli", "ledger", "verify", "--data-dir", data_dir],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert f"transaction_altered\t{CTR_3}" in result.stdout


def test_on_a_terminal_a_bar_tells_how_far_it_is_and_findings_are_a_table(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with sql(data_dir) as connection:
        remove(connection)
    capsys.readouterr()
    assert call(["ledger", "verify", "--data-dir", str(data_dir)]) == 1
    captured = capsys.readouterr()
    assert "batches" in captured.err
    assert "settlements" in captured.err
    assert "┃" in captured.out
