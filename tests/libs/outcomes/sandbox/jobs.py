"""Jobs for workers of the sandbox's tests."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from aex_outcomes.confinement.supervisor import read_cpu_seconds
from aex_outcomes.sandbox.jobs import get_worker_sandbox
from aex_outcomes.sandbox.monty_sandbox import MontySandbox
from aex_outcomes.sandbox.port import CodeFault, Limits, SandboxUnavailable

CONTEXT = "[{}, {}, {}]"


def killed(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code whose interpreter is killed a number of times while it is computing."""
    run_is_over = threading.Event()
    killer = threading.Thread(target=_kill_computing, args=(payload["times"], run_is_over))
    killer.start()
    try:
        return {"value": get_worker_sandbox().run(payload["code"], CONTEXT, Limits(timeout_ms=60_000)).value}
    except CodeFault as fault:
        return {"kind": fault.kind, "message": fault.message}
    finally:
        run_is_over.set()
        killer.join()


def processes(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code so many times; how many interpreters there were meanwhile, one after the other."""
    others, found = set(_children()), [0]
    with MontySandbox(busy_s=payload["busy_s"]) as sandbox:
        for _ in range(payload["times"]):
            with suppress(CodeFault):
                sandbox.run(payload["code"], CONTEXT, Limits())
            found += [child for child in _children() if child not in {*others, found[-1]}]
    return {"count": len(found) - 1}


def idle_one_killed(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code, kill the interpreter while it has nothing to do, and run the code again."""
    others = set(_children())
    with MontySandbox() as sandbox:
        sandbox.run(payload["code"], CONTEXT, Limits())
        for child in set(_children()) - others:
            os.kill(child, signal.SIGKILL)
        value = sandbox.run(payload["code"], CONTEXT, Limits()).value
        [child] = set(_children()) - others
        return {"value": value, "budget_s": _budget_s(child) - time.process_time()}


def _budget_s(process: int) -> int:
    """Seconds of processor time that a process may use."""
    limits = Path(f"/proc/{process}/limits").read_text(encoding="ascii").splitlines()
    return int(next(line for line in limits if line.startswith("Max cpu time")).split()[3])


def with_program(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code on a program of that folder."""
    try:
        with MontySandbox([Path(payload["folder"])]) as sandbox:
            sandbox.run("def evaluate(i, o, m): return 1", CONTEXT, Limits())
    except CodeFault as fault:
        return {"kind": fault.kind, "message": fault.message}
    except SandboxUnavailable as error:
        return {"unavailable": str(error)}
    return {}


def _kill_computing(times: int, run_is_over: threading.Event) -> None:
    """Kill each interpreter once it has used more time than its start takes."""
    killed: set[int] = set()
    while len(killed) < times and not run_is_over.wait(0.01):
        for child in set(_children()) - killed:
            if (read_cpu_seconds(child) or 0) > 0.2:
                os.kill(child, signal.SIGKILL)
                killed.add(child)


def _children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def interpreters(payload: dict[str, Any]) -> dict[str, Any]:
    """Run code so many times; how many interpreters there are then, and the descriptors of the first."""
    for _ in range(payload["times"]):
        get_worker_sandbox().run("def evaluate(i, o, m): return 1", CONTEXT, Limits())
    running = _children()
    links = [str(each.readlink()) for each in Path(f"/proc/{running[0]}/fd").iterdir()]
    status = Path(f"/proc/{running[0]}/status").read_text().splitlines()
    return {
        "count": len(running),
        "links": sorted(link.partition(":")[0] for link in links),
        "environment": Path(f"/proc/{running[0]}/environ").read_text(),
        "status": dict(line.split(":\t", 1) for line in status if ":\t" in line),
    }
