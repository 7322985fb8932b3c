"""Jobs of workers that start workers of their own."""

import os
from pathlib import Path
from typing import Any

from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.confinement import jobs

HERE = __name__
ATTEMPT, LOOP, SURROUNDINGS = (f"{jobs.HERE}:{name}" for name in ("attempt", "loop", "surroundings"))


def open_file(payload: dict[str, Any]) -> dict[str, Any]:
    """Open a file in each way; tells the errno, or 0 where it went through."""
    found = {}
    try:
        found["status"] = Path(payload["file"]).stat().st_size * 0
    except OSError as error:
        found["status"] = error.errno or -1
    for name, flags in {"read": os.O_RDONLY, "folder": os.O_RDONLY | os.O_DIRECTORY, "path": os.O_PATH}.items():
        try:
            os.close(os.open(payload["folder"] if name == "folder" else payload["file"], flags))
            found[name] = 0
        except OSError as error:
            found[name] = error.errno or -1
    return found


async def run_nested(payload: dict[str, Any]) -> dict[str, Any]:
    """Run a job with each payload in a worker of this worker, and return the answers by name."""
    pool = WorkerPool(1, 60, payload.get("memory_mb", 64), jobs=[payload["job"]], spares=0, files=payload["files"])
    async with pool:
        return {name: await pool.run(payload["job"], each) for name, each in payload["payloads"].items()}


def read_limits(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    lines = Path("/proc/self/limits").read_text(encoding="ascii").splitlines()
    return {"address_space": next(line.split()[3] for line in lines if line.startswith("Max address space"))}
