"""What the parts that start a pool of workers beside the service need of it."""

from typing import Any, Protocol


class StartedPool(Protocol):
    """A pool of confined workers that is started, and raises `WorkersUnavailable` where no worker can be."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]: ...
