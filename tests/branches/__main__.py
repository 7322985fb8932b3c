"""The command that measures branch coverage and fails below the limit."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.branches.measured import PARTS, ROOT, BranchFigure, CoveredPart, format_table, read_figure

_PYTEST = (
    *("-p", "tests.branches.few_examples", "-m", "not slow and not emulator and not e2e"),
    *("-k", "not sqlite", "--timeout=0", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"),
)
"""Tests have no time-out, as measured code is several times slower; rules need no SQLite."""
_COMPLETE = (0, 1)
"""Exit codes of pytest after all tests: all passed, some failed."""
_RC = "[run]\nbranch = true\nrelative_files = true\ndata_file = {data}\nsource_pkgs = {package}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when every package reaches the limit, else 1.

    Failed tests are printed only: tests with time limits may fail while measured, and `make test` runs them.
    """
    known = {part.package: part for part in PARTS}
    parser = argparse.ArgumentParser(prog="python -m tests.branches", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(known)}; all by default")
    names = parser.parse_args(arguments).parts or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"{', '.join(unknown)}: unknown; use one of {', '.join(known)}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        figures = list(pool.map(partial(_measure, Path(folder)), [known[name] for name in names]))
    sys.stdout.write(format_table([each for each in figures if each]) + "\n")
    return 0 if all(each is not None and each.is_enough for each in figures) else 1


def _measure(folder: Path, part: CoveredPart) -> BranchFigure | None:
    """Return the figure; None after printing the output of pytest when its run was incomplete."""
    settings, report = folder / f"{part.package}.ini", folder / f"{part.package}.json"
    settings.write_text(_RC.format(data=folder / part.package, package=part.package), encoding="utf-8")
    begin = time.monotonic()
    run = _coverage("run", f"--rcfile={settings}", "-m", "pytest", *_PYTEST, *part.tests)
    sys.stderr.write(f"{part.package}: {time.monotonic() - begin:.0f} s\n")
    if run.returncode not in _COMPLETE:
        sys.stderr.write(f"{run.stdout}{run.stderr}{part.package}: its test run is incomplete, see above\n")
        return None
    sys.stderr.writelines(f"  {line}\n" for line in run.stdout.splitlines() if line.startswith("FAILED"))
    _coverage("json", f"--rcfile={settings}", "-o", str(report), "--quiet").check_returncode()
    return read_figure(report, part)


def _coverage(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coverage", *command], cwd=ROOT, check=False, capture_output=True, text=True
    )


if __name__ == "__main__":
    sys.exit(main())
