"""Jobs for workers of the sandbox's tests."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from aex_outcomes.sandbox.job import worker_sandbox
from aex_outcomes.sandbox.monty_sandbox import MontySandbox
from aex_outcomes.sandbox.port import CodeFault, Limits, SandboxUnavailable

CONTEXT = "[{}, {}, {}]"


def without_program(payload: dict[str, Any]) -> dict[str, Any]:
    """What a sandbox says whose interpreter is not installed."""
    try:
        MontySandbox([Path(payload["folder"])]).run("", CONTEXT, Limits())
    except SandboxUnavailable as error:
        return {"unavailable": str(error)}
    return {}


def killed(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code, while somebody kills its interpreter so many times."""
    sandbox = worker_sandbox()
    sandbox.run("def evaluate(i, o, m): return 1", CONTEXT, Limits())
    killer = threading.Thread(target=_kill, args=(payload["times"],))
    killer.start()
    try:
        return {"value": sandbox.run(payload["code"], CONTEXT, Limits()).value}
    except CodeFault as fault:
        return {"kind": fault.kind, "message": fault.message}
    finally:
        killer.join()


def _kill(times: int) -> None:
    gone: set[int] = set()
    for _ in range(times):
        time.sleep(0.15)
        found = set(_children()) - gone
        for child in found:
            os.kill(child, signal.SIGKILL)
        gone |= found


def _children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def interpreters(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code so many times; how many interpreters there are then, and the descriptors of the first."""
    for _ in range(payload["times"]):
        worker_sandbox().run("def evaluate(i, o, m): return 1", CONTEXT, Limits())
    running = _children()
    links = [str(each.readlink()) for each in Path(f"/proc/{running[0]}/fd").iterdir()]
    status = Path(f"/proc/{running[0]}/status").read_text().splitlines()
    return {
        "count": len(running),
        "links": sorted(link.partition(":")[0] for link in links),
        "environment": Path(f"/proc/{running[0]}/environ").read_text(),
        "status": dict(line.split(":\t", 1) for line in status if ":\t" in line),
    }
