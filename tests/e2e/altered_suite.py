"""`aex up` with other modules in the place of some services: `… --data-dir DIR --port-base PORT SERVICE=MODULE …`."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from aex_cli.commands.up import patience, run_suite
from aex_cli.main import exit_code_of
from aex_cli.suite.restarts import RestartPolicy
from aex_cli.suite.service_spec import default_suite

OFTEN = RestartPolicy(limit=100, longest_pause_s=0.2)
"""Services die here because a test wants it: more often than a suite would put up with."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port-base", type=int, required=True)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--config", type=Path)
    parser.add_argument("replaced", nargs="+")
    given = parser.parse_args(arguments)
    modules = dict(pair.split("=") for pair in given.replaced)
    specs = [
        replace(spec, module=modules.get(spec.name, spec.module))
        for spec in default_suite(given.port_base, given.replicas)
    ]
    policy = replace(patience(given.replicas), restarts=OFTEN)
    return exit_code_of(lambda: run_suite(specs, given.data_dir, given.config, policy))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
