"""What the reader can do when the demo is over."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from aex_cli.demo.cast import FINANCE
from aex_cli.report import Report
from aex_cli.suite.service_spec import ServiceSpec

DEFAULT_BASE = 8081
DEFAULT_DIR = Path(".aex")


def tell_next_steps(
    specs: Sequence[ServiceSpec], data_dir: Path, exports: str | None, contract_id: str, report: Report
) -> None:
    """How to start the suite again on the same data, and how to look at them; `exports` is for the shell, before."""
    aex, place = own_command(), "" if data_dir == DEFAULT_DIR else f" --data-dir {shlex.quote(str(data_dir))}"
    base = min(spec.port for spec in specs)
    ports = "" if base == DEFAULT_BASE else f" --port-base {base}"
    settlement = next(spec for spec in specs if spec.name == "settlement")
    report.chapter("Look further")
    if exports is not None:
        report.command("variables", exports)
    report.command("resume", f"{aex} up{place}{ports}")
    report.command("token", f"{aex} token --role finance --sub {FINANCE}{place}")
    bearer = f'"Authorization: Bearer $({aex} token --role finance --sub {FINANCE}{place})"'
    report.command("curl", f"curl -s -H {bearer} {settlement.url}/v1/settlements/{contract_id}")
    report.step("dashboard", f"{settlement.url}/dashboard  signs in with that token")
    for spec in specs:
        report.step("docs" if spec is specs[0] else "", f"{spec.url}/docs  {spec.name}")


def own_command() -> str:
    """What the reader has to type for `aex`: the path by which it was called, where it is not on the PATH."""
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.name == "aex" and shutil.which("aex") is None else "aex"
