"""`aex outbox`, on a store as a service leaves it."""

import asyncio
import json
import os
import pwd
from functools import partial
from pathlib import Path

import pytest

from aex_cli.commands.outbox import find_user_name
from aex_cli.main import run_command_line
from aex_models.events import Event
from aex_runtime.command_backends import open_service_backends, read_settings
from aex_runtime.outbox_parked import ParkedEvents
from aex_runtime.records import OutboxEntry, outbox_table
from aex_runtime.store.port import Transaction

SECRET = "CANARY-7391"


async def _write(service: str, entry: OutboxEntry, transaction: Transaction) -> None:
    table = outbox_table(service)
    transaction.put(table.collection, entry.event.id, *table.encode(entry))


async def park(data_dir: Path, service: str, *names: str) -> None:
    """Park an event of each name."""
    async with open_service_backends(read_settings(data_dir), service) as backends:
        for name in names:
            now = backends.clock.now()
            event = Event(id=name, type="work.checked", source="/aex", subject="work_1", time=now, data={"a": SECRET})
            await backends.store.transact(partial(_write, service, OutboxEntry(event=event, created_at=now)))
            await ParkedEvents(service, backends.store, backends.clock).park(name, "the message is too large")


async def outbox_rows(data_dir: Path, service: str) -> list[str]:
    async with open_service_backends(read_settings(data_dir), service) as backends:
        return [each.document.key for each in await outbox_table(service).find(backends.store, order="created_at")]


async def aex(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `aex outbox`; it has an event loop of its own."""
    capsys.readouterr()
    code = await asyncio.to_thread(run_command_line, ["outbox", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


async def test_parked_events_are_listed_and_printed_without_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await park(tmp_path, "settlement", "evt_1")
    await park(tmp_path, "governance", "evt_2")
    folder = ("--data-dir", tmp_path)
    code, out, _ = await aex(capsys, "list", *folder, "--json")
    assert (code, [row["id"] for row in json.loads(out)]) == (0, ["evt_2", "evt_1"])
    code, printed, _ = await aex(capsys, "show", "evt_1", *folder)
    fields = ("service", "type", "subject", "reason", "tries")
    assert (code, [json.loads(printed)[name] for name in fields]) == (
        0,
        ["settlement", "work.checked", "work_1", "the message is too large", 1],
    )
    _, table, _ = await aex(capsys, "list", "--service", "settlement", *folder)
    assert [line.split("\t")[0] for line in table.splitlines()] == ["id", "evt_1"]
    assert SECRET not in out + printed + table


async def test_replay_returns_events_to_the_outbox(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await park(tmp_path, "settlement", "evt_1", "evt_2", "evt_3")
    folder = ("--data-dir", tmp_path)
    assert await aex(capsys, "replay", "evt_2", *folder) == (0, "replayed evt_2 of settlement\n", "")
    assert await outbox_rows(tmp_path, "settlement") == ["evt_2"]
    code, out, _ = await aex(capsys, "replay", "--all", *folder)
    assert (code, out.splitlines()[-1]) == (0, "replayed 2 of settlement")
    assert sorted(await outbox_rows(tmp_path, "settlement")) == ["evt_1", "evt_2", "evt_3"]


async def test_discard_needs_a_reason_and_is_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await park(tmp_path, "settlement", "evt_1", "evt_2")
    folder = ("--data-dir", tmp_path)
    assert (await aex(capsys, "discard", "evt_1", *folder))[0] == 2
    code, out, err = await aex(capsys, "discard", "evt_1", "--reason", "sent by hand", *folder)
    assert (code, out) == (0, "discarded evt_1 of settlement\n")
    assert "parked_event_discarded" in err
    assert "sent by hand" in err
    arguments = ("--all", "--service", "settlement", "--reason", "a test")
    assert (await aex(capsys, "discard", *arguments, *folder))[:2] == (0, "discarded 1 of settlement\n")
    assert await outbox_rows(tmp_path, "settlement") == []


def test_user_without_a_name_is_named_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # as in the image, whose user is only a number
    assert find_user_name() == f"uid:{os.getuid()}"


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["list", "--service", "ledger"], "work-publisher"),
        (["show", "evt_1"], "evt_1 is not parked"),
        (["replay"], "--all"),
        (["replay", "evt_1", "--all"], "--all"),
        (["replay", "evt_1"], "aex outbox list"),
        (["discard", "evt_1", "--reason", " "], "--reason is empty"),
    ],
)
async def test_bad_arguments_are_one_line_with_the_fix(
    arguments: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = await aex(capsys, *arguments, "--data-dir", tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert names in err
