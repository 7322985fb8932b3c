"""`aex up` with other modules in the place of some services: `… --data-dir DIR --port-base PORT SERVICE=MODULE …`."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from aex_cli.commands.up import patience, run_suite
from aex_cli.main import exit_code_of
from aex_cli.suite.service_spec import default_suite


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port-base", type=int, required=True)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("replaced", nargs="+")
    given = parser.parse_args(arguments)
    modules = dict(pair.split("=") for pair in given.replaced)
    specs = [
        replace(spec, module=modules.get(spec.name, spec.module))
        for spec in default_suite(given.port_base, given.replicas)
    ]
    return exit_code_of(lambda: run_suite(specs, given.data_dir, None, patience(given.replicas)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
