"""Images, built once a run however many workers the tests have, and the four services running from them."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.deploy.images.building import IMAGES, Image, Tools, build, of_folder
from tests.deploy.images.dockerfile import path_of, read
from tests.libs.cli.suites import ROOT

Images = Callable[[str], Image]


@pytest.fixture(scope="session")
def tools() -> Tools:
    """uv as `make` has it, or any of the same version, and its cache."""
    own = ROOT / ".tools" / "bin" / "uv"
    found = own if own.exists() else Path(shutil.which("uv") or pytest.fail("no uv: make .venv/.ready brings it"))
    asked = subprocess.run([found, "cache", "dir"], capture_output=True, text=True, check=True)
    cache = Path(asked.stdout.strip())
    cache.mkdir(parents=True, exist_ok=True)
    return Tools(found.resolve(), cache)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory, tools: Tools) -> Iterator[Images]:
    """An image by its name: a service's, or `aex-cli`. Removed with the last worker that has used any."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own) / "images"
    shared.mkdir(exist_ok=True)

    def image(name: str) -> Image:
        assert name in IMAGES
        folder, dockerfile = shared / name, read(path_of(name).read_text(encoding="utf-8"))
        with (shared / f"{name}.lock").open("w") as building:
            fcntl.flock(building, fcntl.LOCK_EX)
            if not folder.exists():
                build(dockerfile, folder, tools)
        return of_folder(dockerfile, folder)

    with (shared / "in-use").open("w") as in_use:
        fcntl.flock(in_use, fcntl.LOCK_SH)
        yield image
        with suppress(BlockingIOError):  # others still use them
            fcntl.flock(in_use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in IMAGES:
                shutil.rmtree(shared / name, ignore_errors=True)
