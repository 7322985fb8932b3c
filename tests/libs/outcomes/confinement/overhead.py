"""What the pool costs on top of the socket under it: `python -m tests.libs.outcomes.confinement.overhead`.

A no-op job beside the same bytes echoed by a bare process over a bare socket pair, blocking and through asyncio,
measured in turns in one run. Medians; only the ratios mean anything on a shared machine.
"""

import asyncio
import socket
import statistics
import subprocess
import sys
import time

from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.confinement import jobs

_ECHO = """
import socket, sys
with socket.socket(fileno=int(sys.argv[1])) as peer:
    while data := peer.recv(65536):
        peer.sendall(data)
"""
_ROUNDS, _CALLS = 9, 400
_BYTES = b"x" * 90


class _Bare(asyncio.Protocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.answer.set_result(data)


def _echo_process() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-I", "-c", _ECHO, str(theirs.fileno())]
        return subprocess.Popen(command, pass_fds=(theirs.fileno(),)), ours


def _blocking(peer: socket.socket) -> float:
    started = time.perf_counter()
    for _ in range(_CALLS):
        peer.sendall(_BYTES)
        peer.recv(65_536)
    return time.perf_counter() - started


async def _asynchronous(transport: asyncio.Transport, bare: _Bare) -> float:
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    for _ in range(_CALLS):
        bare.answer = loop.create_future()
        transport.write(_BYTES)
        await bare.answer
    return time.perf_counter() - started


async def _pooled(pool: WorkerPool) -> float:
    started = time.perf_counter()
    for _ in range(_CALLS):
        await pool.run(f"{jobs.__name__}:nothing", {})
    return time.perf_counter() - started


async def measure() -> dict[str, float]:
    """Microseconds for one round trip of each kind."""
    first, blocking_end = _echo_process()
    second, async_end = _echo_process()
    loop = asyncio.get_running_loop()
    transport, bare = await loop.create_unix_connection(_Bare, sock=async_end)
    times: dict[str, list[float]] = {"bare, blocking": [], "bare, asyncio": [], "pool": []}
    async with WorkerPool(1, jobs=[f"{jobs.__name__}:nothing"], spares=0) as pool:
        for _ in range(_ROUNDS):
            times["bare, blocking"].append(_blocking(blocking_end))
            times["bare, asyncio"].append(await _asynchronous(transport, bare))
            times["pool"].append(await _pooled(pool))
    blocking_end.close()
    transport.close()
    for process in (first, second):
        process.kill()
        process.wait()
    return {kind: statistics.median(taken) / _CALLS * 1e6 for kind, taken in times.items()}


def main() -> None:
    """Print one line for each kind."""
    figures = asyncio.run(measure())
    for kind, microseconds in figures.items():
        ratio = microseconds / figures["bare, blocking"]
        sys.stdout.write(f"{kind:15} {microseconds:7.1f} µs  {ratio:4.2f}×\n")


if __name__ == "__main__":
    main()
