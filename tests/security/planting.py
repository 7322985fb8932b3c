"""A suite's remains with one leak in them, for the check of the checker."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aex_runtime.bus.port import Message
from aex_runtime.clock import WallClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.files import open_data_dir
from aex_runtime.service import open_backends
from aex_runtime.settings import RuntimeSettings
from tests.parts.openai_stub import ChatRequest
from tests.security.aftermath import Aftermath

_FILES: Mapping[str, str] = {
    "events": "events/settlement.jsonl",
    "logs": ".aex/logs/verification.log",
    "spans": "events/verification.spans",
    "blobs": ".aex/blobs/candidates/planted",
}


def with_a_leak(complete: Aftermath, location: Path, kind: str, mark: str) -> Aftermath:
    """The same as if it lay at `place`, where nothing lies but a mark in one kind of place."""
    data_dir = location / ".aex"
    moved = replace(complete, live=replace(complete.live, data_dir=data_dir), events=location / "events", requested=())
    if kind == "prompts":
        return replace(
            moved, requested=[ChatRequest({"messages": [{"role": "user", "content": f"It is {mark}."}]}, {})]
        )
    if kind in _FILES:
        file = location / _FILES[kind]
        file.parent.mkdir(parents=True)
        file.write_text(f'{{"event": "planted", "detail": "it is {mark}"}}\n', encoding="utf-8")
    else:
        asyncio.run(_make_dead_letter(data_dir, f"it is {mark}"))
    return moved


async def _make_dead_letter(data_dir: Path, reason: str) -> None:
    """A dead letter of settlement, with this reason: a record as any, and listed by the command."""
    open_data_dir(data_dir)
    backends = open_backends(RuntimeSettings(data_dir=data_dir), "settlement")
    try:
        letters = DeadLetters("settlement", backends.store, WallClock())
        await letters.record("outcome.verified", Message({}, b"{}"), reason, None, None)
    finally:
        await backends.bus.close()
        await backends.store.close()
