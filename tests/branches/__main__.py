"""Measures the parts' branches by their own tests, prints the figures, and fails where a part has too few."""

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

from tests.branches.measured import PARTS, ROOT, Figure, Part, figure, table

_PYTEST = (
    *("-p", "tests.branches.few_examples", "-m", "not slow and not emulator and not e2e"),
    *("-k", "not sqlite", "--timeout=0", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"),
)
"""Measured code is several times slower, so that no test has a limit of time. Rules know no store: one in memory will
do for the tests that keep something."""
_WHOLE_RUNS = (0, 1)
"""pytest's: all passed, some failed. Anything else was no whole run, and its figures say nothing."""
_RC = "[run]\nbranch = true\nrelative_files = true\ndata_file = {data}\nsource_pkgs = {package}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where every part has its share, 1 otherwise.

    Tests that hold something to a time may fail while it is measured: that they pass is for `make test` to say.
    """
    known = {part.package: part for part in PARTS}
    parser = argparse.ArgumentParser(prog="python -m tests.branches", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(known)}; all unless named")
    wanted = parser.parse_args(arguments).parts or list(known)
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"{', '.join(unknown)}: no such part, there are {', '.join(known)}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(partial(_measure, Path(folder)), [known[name] for name in wanted]))
    sys.stdout.write(table([each for each in found if each]) + "\n")
    return 0 if all(each is not None and each.enough for each in found) else 1


def _measure(folder: Path, part: Part) -> Figure | None:
    """The part's figure; None, with pytest's own words, where its tests did not come to an end."""
    settings, report = folder / f"{part.package}.ini", folder / f"{part.package}.json"
    settings.write_text(_RC.format(data=folder / part.package, package=part.package), encoding="utf-8")
    began = time.monotonic()
    ran = _coverage("run", f"--rcfile={settings}", "-m", "pytest", *_PYTEST, *part.tests)
    sys.stderr.write(f"{part.package}: {time.monotonic() - began:.0f} s\n")
    if ran.returncode not in _WHOLE_RUNS:
        sys.stderr.write(f"{ran.stdout}{ran.stderr}{part.package}: its tests came to no end, see above\n")
        return None
    sys.stderr.writelines(f"  {line}\n" for line in ran.stdout.splitlines() if line.startswith("FAILED"))
    _coverage("json", f"--rcfile={settings}", "-o", str(report), "--quiet").check_returncode()
    return figure(report, part)


def _coverage(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coverage", *command], cwd=ROOT, check=False, capture_output=True, text=True
    )


if __name__ == "__main__":
    sys.exit(main())
