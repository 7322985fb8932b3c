from pathlib import Path

import pytest

from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.factory import open_bus
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.pubsub import PubSubBus
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


@pytest.mark.parametrize("url", ["pubsub://a-project", "pubsub://a-project/", "pubsub://example.com:a-project"])
async def test_pubsub_url_names_its_project(url: str) -> None:
    bus = open_bus(url, emulator="127.0.0.1:9")
    assert isinstance(bus, PubSubBus)
    await bus.close()


@pytest.mark.parametrize(
    "url",
    [
        *("kafka://x", "", "memory:x", "embedded:", "embedded:///", "embedded://host", "pubsub:a-project", "pubsub://"),
        *("pubsub://A-Project", "pubsub://short", "pubsub://" + "a" * 31, "pubsub://a-project/topic"),
    ],
)
def test_other_urls_are_refused_with_the_accepted_forms(url: str) -> None:
    with pytest.raises(ValueError, match=r"embedded:///relative/folder, .* pubsub://project or memory:"):
        open_bus(url)
