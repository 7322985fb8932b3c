"""`aex up` whose services run as `altered_service`, and are restarted as often as tests kill them."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from aex_cli.commands.up import build_suite_policy, run_suite
from aex_cli.main import run_and_report_errors
from aex_cli.suite.service_spec import plan_suite
from aex_cli.suite.supervisor import RestartPolicy
from tests.e2e import altered_service

_OFTEN = RestartPolicy(limit=100, longest_pause_s=0.2)


def main(arguments: list[str]) -> int:
    """Run the suite until it is stopped; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port-base", type=int, required=True)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--config", type=Path)
    options = parser.parse_args(arguments)
    suite = plan_suite(options.port_base, options.replicas)
    specs = [replace(spec, module=altered_service.__name__) for spec in suite]
    policy = replace(build_suite_policy(options.replicas), restarts=_OFTEN)
    return run_and_report_errors(lambda: run_suite(specs, options.data_dir, options.config, policy))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
