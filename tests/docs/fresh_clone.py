"""A clone of this repository as it stands, and what installs it."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.docs.documents import ROOT
from tests.docs.reader import reader_environment


def clone_into(folder: Path) -> Path:
    """Copy the files that git tracks or would track: no environment, no data, no caches."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # a file that was deleted and not yet committed is listed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def install(clone: Path) -> None:
    """Install what each make target needs, from earlier downloads where possible.

    Raises `CalledProcessError` where something is missing and there is no network.
    """
    _lend_the_installer(clone)
    command = ["make", ".venv/.ready"]
    environment = reader_environment()
    offline = subprocess.run(
        command, cwd=clone, env=environment | {"UV_OFFLINE": "1"}, capture_output=True, check=False
    )
    if offline.returncode != 0:
        subprocess.run(command, cwd=clone, env=environment, check=True)


def _lend_the_installer(clone: Path) -> None:
    """uv is downloaded, too: take ours, where it is the one that the Makefile has fetched."""
    own = ROOT / ".tools/bin/uv"
    if os.access(own, os.X_OK):
        (clone / ".tools/bin").mkdir(parents=True)
        shutil.copy2(own, clone / ".tools/bin/uv")
