"""`aex deadletters`, on a store as a service leaves it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aex_cli.dead_letter_desk import list_letters, replay_all, replay_one
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Message
from aex_runtime.commandline.embedded import backends_of, has_store, read_settings
from aex_runtime.commandline.errors import UserError
from aex_runtime.deadletters import DeadLetters

SECRET = b'{"reference": "CANARY-7391"}'


async def shelve(data_dir: Path, service: str, *event_ids: str) -> list[str]:
    """Dead letters of a service; their ids."""
    async with backends_of(read_settings(data_dir), service) as backends:
        letters = DeadLetters(service, backends.store, backends.clock)
        return [
            await letters.record(
                "outcome.verified", Message({"type": "outcome.verified"}, SECRET), "ledger is shut", event_id, "ctr_1"
            )
            for event_id in event_ids
        ]


async def waiting(data_dir: Path, service: str) -> int:
    """How many messages lie in the service's queue."""
    bus = EmbeddedBus(data_dir / "bus")
    try:
        return await bus.backlog(service)
    finally:
        await bus.close()


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_letters_of_all_services_are_listed_newest_first(tmp_path: Path) -> None:
    settings = read_settings(tmp_path)
    (older,) = await shelve(tmp_path, "settlement", "evt_1")
    (newer,) = await shelve(tmp_path, "governance", "evt_2")
    found = await list_letters(settings, ["settlement", "governance", "verification"], 50)
    assert [(each.service, each.letter.id) for each in found] == [("governance", newer), ("settlement", older)]


async def test_to_look_makes_no_files(tmp_path: Path) -> None:
    settings = read_settings(tmp_path)
    assert await list_letters(settings, ["settlement"], 50) == []
    assert await replay_all(settings, "settlement", print) == 0
    assert await replay_one(settings, ["settlement"], "dead_1") is None
    assert not has_store(settings, "settlement")
    assert files(tmp_path) == []


async def test_the_limit_holds_for_each_service_and_the_newest_stay(tmp_path: Path) -> None:
    ids = await shelve(tmp_path, "settlement", *(f"evt_{number}" for number in range(7)))
    found = await list_letters(read_settings(tmp_path), ["settlement"], 3)
    assert [each.letter.id for each in found] == ids[:-4:-1]


async def test_a_replayed_letter_goes_to_the_service_that_gave_up_on_it_alone(tmp_path: Path) -> None:
    (letter,) = await shelve(tmp_path, "settlement", "evt_1")
    settings = read_settings(tmp_path)
    assert await replay_one(settings, ["work-publisher", "settlement"], letter) == "settlement"
    assert await waiting(tmp_path, "settlement") == 1
    assert await waiting(tmp_path, "governance") == 0
    assert await replay_one(settings, ["settlement"], letter) is None


async def test_all_letters_of_a_service_are_replayed_and_those_of_others_stay(tmp_path: Path) -> None:
    ids = await shelve(tmp_path, "settlement", "evt_1", "evt_2", "evt_3")
    await shelve(tmp_path, "governance", "evt_1")
    told: list[str] = []
    assert await replay_all(read_settings(tmp_path), "settlement", told.append) == 3
    assert told == ids
    assert await waiting(tmp_path, "settlement") == 3
    assert [each.service for each in await list_letters(read_settings(tmp_path), ["settlement", "governance"], 9)] == [
        "governance"
    ]


def test_an_unknown_backend_is_a_mistake_that_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AEX_STORE_URL", "mysql://db")
    with pytest.raises(UserError, match="AEX_STORE_URL"):
        read_settings(tmp_path)


def aex(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aex_cli", "deadletters", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
async def test_the_command_prints_tables_and_json_without_contents(tmp_path: Path) -> None:
    first, second = await shelve(tmp_path, "settlement", "evt_1", "evt_2")
    plain = aex("list", "--data-dir", tmp_path)
    assert plain.stderr == ""
    header, *rows = [line.split("\t") for line in plain.stdout.splitlines()]
    assert header[:2] == ["id", "service"]
    assert [row[:3] for row in rows] == [
        [second, "settlement", "outcome.verified"],
        [first, "settlement", "outcome.verified"],
    ]
    shown = aex("list", "--data-dir", tmp_path, "--json")
    assert [each["reason"] for each in json.loads(shown.stdout)] == ["ledger is shut"] * 2
    assert "CANARY" not in plain.stdout + shown.stdout

    assert aex("replay", first, "--data-dir", tmp_path).stdout == f"replayed {first} to settlement\n"
    every = aex("replay", "--all", "--service", "settlement", "--data-dir", tmp_path)
    assert (every.stdout, every.stderr) == ("replayed 1 to settlement\n", "")
    assert json.loads(aex("list", "--data-dir", tmp_path, "--json").stdout) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["list", "--service", "ledger"], "work-publisher"),
        (["list", "--data-dir", "/nowhere/.aex"], "/nowhere/.aex"),
        (["replay"], "--all"),
        (["replay", "dead_1", "--all"], "--all"),
        (["replay", "--all"], "--service"),
        (["replay", "dead_1"], "dead_1"),
    ],
)
def test_mistakes_are_one_line_with_the_fix(arguments: list[str], names: str, tmp_path: Path) -> None:
    result = aex(*arguments, *([] if "--data-dir" in arguments else ["--data-dir", tmp_path]))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert names in result.stderr
