import sys
from pathlib import Path

from aex_cli.commands.up import run_suite
from aex_cli.main import run_and_report_errors
from aex_cli.suite.supervisor import RestartPolicy, SuitePolicy
from tests.libs.cli.suites import sample_specs


def main(data_dir: str, port: str, ready_s: str, stop_s: str, replicas: str, *samples: str) -> int:
    specs = sample_specs(int(port), *samples, replicas=int(replicas))
    restarts = RestartPolicy(limit=2, window_s=600)  # longer than slow machines take for three starts
    policy = SuitePolicy(ready_s=float(ready_s), stop_s=float(stop_s), restarts=restarts)
    return run_and_report_errors(lambda: run_suite(specs, Path(data_dir), None, policy))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
