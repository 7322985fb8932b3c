from pathlib import Path

import pytest

from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.memory import MemoryBus
from tests.bus.messages import outgoing


async def test_embedded_url_names_its_folder(tmp_path: Path) -> None:
    bus = open_bus(f"embedded:///{tmp_path}/bus")
    assert isinstance(bus, EmbeddedBus)
    assert not (tmp_path / "bus").exists()
    await bus.publish([outgoing("a")])
    assert (tmp_path / "bus" / "work-publisher.sqlite3").exists()
    await bus.close()


async def test_memory_url_opens_a_bus_in_memory() -> None:
    assert isinstance(open_bus("memory:"), MemoryBus)


@pytest.mark.parametrize(
    "url", ["kafka://x", "", "embedded:", "embedded:///", "embedded://host", "pubsub://p", "memory:x"]
)
def test_other_urls_are_refused_with_the_accepted_forms(url: str) -> None:
    with pytest.raises(ValueError, match=r"embedded:///relative/folder, .* or memory:"):
        open_bus(url)
