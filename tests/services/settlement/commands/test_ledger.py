import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aex_cli.main import run_command_line
from aex_runtime.store.port import Store, key_of
from aex_settlement.repository.ledger import SETTLEMENTS
from aex_settlement.repository.ledger import TRANSACTIONS as TRANSACTIONS_TABLE
from tests.services.settlement.audit.ledgers import BATCHES, TRANSACTIONS, adjust, next_day
from tests.services.settlement.audit.tampering import Tamper, batch, cut_tail, delete
from tests.services.settlement.audit.test_tampered_ledgers import CASES
from tests.services.settlement.commands.conftest import with_ledger
from tests.services.settlement.ledger_kit import LedgerKit


def tamper(data_dir: Path, change: Tamper) -> None:
    with_ledger(data_dir, lambda ledger: change(ledger.deps.store))


async def cut_last_batch(store: Store) -> None:
    """Remove the last batch with its transactions and their settlement; head and watermarks fit."""
    for each in (await batch(store, BATCHES)).transactions:
        await delete(store, TRANSACTIONS_TABLE, key_of(each.id))
    await cut_tail(store, BATCHES - 1)
    await delete(store, SETTLEMENTS, key_of("ctr_4"))


def verify(data_dir: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    capsys.readouterr()  # what the test itself did before
    code = run_command_line(["ledger", "verify", "--data-dir", str(data_dir), "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_a_sound_ledger_exits_with_0_and_prints_its_seal_last(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["ledger", "verify", "--data-dir", str(data_dir)]) == 0
    captured = capsys.readouterr()
    counts, seal = captured.out.splitlines()
    assert counts.startswith(f"{BATCHES} batches, {TRANSACTIONS} transactions and 4 settlements in ")
    assert seal.startswith(f"seal {BATCHES}:")
    assert "no seal was known" in captured.err

    assert (
        run_command_line(["ledger", "verify", "--data-dir", str(data_dir), "--seal", seal.removeprefix("seal ")]) == 0
    )
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1] == seal


def test_change_is_found_with_exit_code_1(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, [expected] = CASES["transaction removed"]
    tamper(data_dir, change)
    code, logged = verify(data_dir, capsys)
    assert (code, logged["ok"], logged["findings_total"]) == (1, False, len(logged["findings"]))
    assert expected in {(each["code"], each["subject"]) for each in logged["findings"]}
    assert run_command_line(["ledger", "verify", "--data-dir", str(data_dir)]) == 1
    captured = capsys.readouterr()
    header, *rows = captured.out.splitlines()
    assert header == "code\tsubject\tdetail"
    assert any(row.startswith("\t".join(expected)) for row in rows)
    assert "finding" in captured.err


def test_the_last_good_seal_is_kept_for_the_owner_alone_and_finds_a_cut_tail(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, logged = verify(data_dir, capsys)
    assert code == 0
    kept = data_dir / "settlement" / "ledger-seal.json"
    assert json.loads(kept.read_text()) == logged["seal"]
    assert kept.stat().st_mode & 0o777 == 0o600

    tamper(data_dir, cut_last_batch)
    code, logged = verify(data_dir, capsys)
    assert code == 1
    assert ("seal_missing", f"batch {BATCHES}") in {(each["code"], each["subject"]) for each in logged["findings"]}
    assert json.loads(kept.read_text())["seq"] == BATCHES


def test_the_kept_seal_moves_on_with_the_journal(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify(data_dir, capsys)

    async def more(ledger: LedgerKit) -> None:
        await adjust(ledger)
        await next_day(ledger)

    with_ledger(data_dir, more)
    code, logged = verify(data_dir, capsys)
    assert (code, logged["seal"]["seq"]) == (0, BATCHES + 1)
    assert json.loads((data_dir / "settlement" / "ledger-seal.json").read_text()) == logged["seal"]


def test_a_seal_of_another_ledger_is_a_finding(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, logged = verify(data_dir, capsys, "--seal", f"2:{'ab' * 32}")
    assert code == 1
    assert [(each["code"], each["subject"]) for each in logged["findings"]] == [("seal_differs", "batch 2")]
    assert logged["first_broken_link"] == 2


def test_what_waits_is_listed_and_no_finding(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_ledger(data_dir, adjust)
    code, logged = verify(data_dir, capsys)
    assert (code, logged["waiting"], len(logged["first_waiting"])) == (0, 1, 1)
    assert run_command_line(["ledger", "verify", "--data-dir", str(data_dir)]) == 0
    assert f"1 wait to be sealed: {logged['first_waiting'][0]}" in capsys.readouterr().out


def mistaken(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run_command_line(["ledger", "verify", *arguments])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return code, captured.err


@pytest.mark.parametrize("seal", ["", "7", "7:abc", f"0:{'a' * 64}", f"x:{'a' * 64}", "7:" + "G" * 64])
def test_a_malformed_seal_is_bad_input(seal: str, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = mistaken(["--data-dir", str(data_dir), f"--seal={seal}"], capsys)
    assert code == 2
    assert "--seal" in line


def test_missing_ledger_is_bad_input_and_creates_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mistaken(["--data-dir", str(tmp_path / "nowhere")], capsys)[0] == 2
    code, line = mistaken(["--data-dir", str(tmp_path)], capsys)
    assert code == 2
    assert "aex up" in line
    assert list(tmp_path.iterdir()) == []


def test_changed_seal_file_is_named(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data_dir / "settlement" / "ledger-seal.json").write_text("{}")
    code, line = mistaken(["--data-dir", str(data_dir)], capsys)
    assert code == 2
    assert "ledger-seal.json" in line


def test_unsealed_ledger_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_ledger(tmp_path, lambda ledger: ledger.deps.store.ping())
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


def test_a_store_that_does_not_answer_says_nothing_about_the_books(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.sqlite3").write_text("this is no database")
    monkeypatch.setenv("AEX_STORE_URL", f"sqlite:///{tmp_path}/store.sqlite3")
    code, line = mistaken(["--data-dir", str(tmp_path)], capsys)
    assert code == 3
    assert "settlement" in line


@pytest.mark.slow
def test_the_service_runs_without_what_the_command_line_needs() -> None:
    code = "import sys, aex_settlement.main; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"typer", "aex_runtime.commandline", "aex_settlement.commands"} & set(imported)


def test_terminal_gets_progress_bars_and_a_table_of_findings(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    tamper(data_dir, CASES["transaction removed"][0])
    capsys.readouterr()
    assert run_command_line(["ledger", "verify", "--data-dir", str(data_dir)]) == 1
    captured = capsys.readouterr()
    assert "batches" in captured.err
    assert "settlements" in captured.err
    assert "┃" in captured.out
