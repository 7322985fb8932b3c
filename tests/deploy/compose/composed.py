"""The compose file as Docker Compose itself reads it, interpolated and merged; that needs no daemon."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.deploy.cross_check import COMPOSE_FILE, ROOT

DOCKER_COMPOSE = Path(sys.executable).with_name("docker-compose")
EMULATORS = ("firestore", "pubsub")
TOOL = "aex"


def read_by_compose(
    env_file: Path = Path(os.devnull), files: Sequence[Path] = (COMPOSE_FILE,)
) -> subprocess.CompletedProcess[str]:
    """`docker compose config` as JSON; of the machine's environment and of anybody's own `.env` it sees nothing."""
    named = [option for file in files for option in ("--file", str(file))]
    command = [str(DOCKER_COMPOSE), "--env-file", str(env_file), *named]
    return subprocess.run(
        [*command, "--profile", "*", "config", "--format", "json"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def composed(env_file: Path = Path(os.devnull), *over: Path) -> dict[str, Any]:
    """What Docker Compose makes of the file, and of those that are laid over it."""
    told = read_by_compose(env_file, [COMPOSE_FILE, *over])
    assert told.returncode == 0, told.stderr
    # It writes a dollar as two, so that what it prints can be read again.
    found: dict[str, Any] = json.loads(told.stdout.replace("$$", "$"))
    return found


def environment_of(service: dict[str, Any]) -> dict[str, str]:
    """What a container of the service finds in its environment: names without a value are not there."""
    return {name: value for name, value in service["environment"].items() if value is not None}


def start_order(services: dict[str, Any]) -> list[str]:
    """The services, each after those that it waits for."""
    order: list[str] = []

    def visit(name: str) -> None:
        for other in sorted(services[name].get("depends_on", {})):
            visit(other)
        if name not in order:
            order.append(name)

    for name in sorted(services):
        visit(name)
    return order
