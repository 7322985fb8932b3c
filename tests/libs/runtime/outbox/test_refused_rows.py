"""Ten rows that the embedded bus refuses cost the sweeper little memory, and others no time."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aex_runtime.bus.dataref import MAX_INLINE_BYTES
from tests.libs.runtime.background import SERVICE, TOPIC
from tests.libs.runtime.outbox.measured_sweeper import COMMITTED, UNDECLARED, fill, open_store

LEFT = [f"left_{number}" for number in range(20)]
REFUSED = 10
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read in /proc"),
]


async def swept(folder: Path, refused: int) -> dict[str, Any]:
    """Sweep rows that a dead process left, half of them before and half after the refused ones."""
    store = open_store(folder)
    await fill(store, SERVICE, TOPIC, LEFT[::2], 100)
    await fill(store, SERVICE, UNDECLARED, [f"refused_{number}" for number in range(refused)], MAX_INLINE_BYTES - 1_000)
    await fill(store, SERVICE, TOPIC, LEFT[1::2], 100)
    await store.close()
    command = [sys.executable, "-m", "tests.libs.runtime.outbox.measured_sweeper", str(folder)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: ASYNC221 the loop has nothing else
    assert printed.returncode == 0, printed.stderr
    measured: dict[str, Any] = json.loads(printed.stdout.splitlines()[-1])
    return measured


async def test_ten_refused_rows_grow_the_sweeper_little_and_delay_no_other_event(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "ten").mkdir()
    without, beside = await swept(tmp_path / "none", 0), await swept(tmp_path / "ten", REFUSED)
    assert (without["parked"], beside["parked"]) == (0, REFUSED)
    assert without["published"] == beside["published"] == len(LEFT) + COMMITTED
    assert beside["grown_mb"] <= 20, beside
    assert beside["left_s"] - without["left_s"] <= 2, (without, beside)
    assert beside["new_s"] - without["new_s"] <= 2, (without, beside)
