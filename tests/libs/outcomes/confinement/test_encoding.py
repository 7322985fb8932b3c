import asyncio
import time
from typing import Any

import pytest

from aex_outcomes.confinement.encoding import encode_without_blocking

BEAT_S = 0.005


@pytest.mark.parametrize(
    "payload",
    [{"text": "naïve 文 " * 1_200_000}, {"rows": [{"label": "cat", "id": str(n)} for n in range(250_000)]}],
    ids=["one long text", "many rows"],
)
async def test_encoding_ten_megabytes_leaves_the_event_loop_running(payload: dict[str, Any]) -> None:
    encoding = asyncio.create_task(encode_without_blocking(payload))
    used_s = []
    while not encoding.done():
        before = time.process_time()  # unlike time by the clock, it does not grow while other processes run
        await asyncio.sleep(BEAT_S)
        used_s.append(time.process_time() - before)
    assert len(await encoding) > 7_000_000
    assert len(used_s) >= 5
    assert sorted(used_s)[len(used_s) * 3 // 4] < 0.05
