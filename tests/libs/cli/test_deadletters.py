"""`aex deadletters`, on a store as a service leaves it."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from aex_cli.commands.deadletters import list_dead_letters, replay_all_dead_letters, replay_dead_letter
from aex_cli.main import run_command_line
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Message
from aex_runtime.command_backends import has_store, open_service_backends, read_settings
from aex_runtime.deadletters import DeadLetters

SECRET = b'{"reference": "CANARY-7391"}'


async def shelve(data_dir: Path, service: str, *event_ids: str) -> list[str]:
    """Dead letters of a service; their ids."""
    async with open_service_backends(read_settings(data_dir), service) as backends:
        letters = DeadLetters(service, backends.store, backends.clock)
        return [
            await letters.store_or_count(
                "outcome.verified", Message({"type": "outcome.verified"}, SECRET), "ledger is shut", event_id, "ctr_1"
            )
            for event_id in event_ids
        ]


async def waiting(data_dir: Path, service: str) -> int:
    bus = EmbeddedBus(data_dir / "bus")
    try:
        return await bus.count_unacked(service)
    finally:
        await bus.close()


async def test_newest_dead_letters_of_all_services_are_listed_first_up_to_the_limit(tmp_path: Path) -> None:
    settings = read_settings(tmp_path)
    ids = await shelve(tmp_path, "settlement", *(f"evt_{number}" for number in range(4)))
    (newest,) = await shelve(tmp_path, "governance", "evt_9")
    found = await list_dead_letters(settings, ["settlement", "governance", "verification"], 3)
    assert [(each.service, each.dead_letter.id) for each in found] == [
        ("governance", newest),
        *(("settlement", each) for each in ids[:-4:-1]),
    ]


async def test_listing_and_replaying_create_no_files(tmp_path: Path) -> None:
    settings = read_settings(tmp_path)
    assert await list_dead_letters(settings, ["settlement"], 50) == []
    assert await replay_all_dead_letters(settings, "settlement", print) == 0
    assert await replay_dead_letter(settings, ["settlement"], "dead_1") is None
    assert not has_store(settings, "settlement")
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def test_replayed_dead_letters_return_only_to_their_service(tmp_path: Path) -> None:
    ids = await shelve(tmp_path, "settlement", "evt_1", "evt_2", "evt_3")
    await shelve(tmp_path, "governance", "evt_1")
    settings = read_settings(tmp_path)
    assert await replay_dead_letter(settings, ["work-publisher", "settlement"], ids[0]) == "settlement"
    assert await replay_dead_letter(settings, ["settlement"], ids[0]) is None
    printed: list[str] = []
    assert await replay_all_dead_letters(settings, "settlement", printed.append) == 2
    assert printed == ids[1:]
    assert (await waiting(tmp_path, "settlement"), await waiting(tmp_path, "governance")) == (3, 0)
    assert [each.service for each in await list_dead_letters(settings, ["settlement", "governance"], 9)] == [
        "governance"
    ]


async def aex(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `aex deadletters`; it has an event loop of its own."""
    code = await asyncio.to_thread(run_command_line, ["deadletters", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


async def test_command_prints_tables_and_json_without_contents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = await shelve(tmp_path, "settlement", "evt_1", "evt_2")
    folder = ("--data-dir", tmp_path)
    capsys.readouterr()
    _, plain, err = await aex(capsys, "list", *folder)
    header, *rows = [line.split("\t") for line in plain.splitlines()]
    assert (err, header[:2]) == ("", ["id", "service"])
    assert [row[:3] for row in rows] == [[each, "settlement", "outcome.verified"] for each in (second, first)]
    _, visible, _ = await aex(capsys, "list", *folder, "--json")
    assert [each["reason"] for each in json.loads(visible)] == ["ledger is shut"] * 2
    assert "CANARY" not in plain + visible
    assert await aex(capsys, "replay", first, *folder) == (0, f"replayed {first} to settlement\n", "")
    lines = (
        "replayed 0 to work-publisher\nreplayed 0 to verification\nreplayed 0 to governance\nreplayed 1 to settlement\n"
    )
    assert await aex(capsys, "replay", "--all", *folder) == (0, lines, "")
    every = await aex(capsys, "replay", "--all", "--service", "settlement", *folder)
    assert every == (0, "replayed 0 to settlement\n", "")
    assert json.loads((await aex(capsys, "list", *folder, "--json"))[1]) == []


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["list", "--service", "ledger"], "work-publisher"),
        (["list", "--data-dir", "/nowhere/.aex"], "/nowhere/.aex"),
        (["replay"], "--all"),
        (["replay", "dead_1", "--all"], "--all"),
        (["replay", "dead_1"], "dead_1"),
    ],
)
async def test_bad_arguments_are_one_line_with_the_fix(
    arguments: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = [] if "--data-dir" in arguments else ["--data-dir", tmp_path]
    code, out, err = await aex(capsys, *arguments, *folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert names in err
