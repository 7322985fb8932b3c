"""Files on the disk are private to their owner, and sockets listen on loopback only."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from aex_cli.suite.service_spec import HOST
from aex_runtime.settings import RuntimeSettings
from tests.e2e.live import clean_environment
from tests.security.aftermath import Aftermath
from tests.security.conftest import TIMEOUT_S
from tests.security.markers import REVIEWER_KEY

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TIMEOUT_S)]
OPEN_TO_ALL = {"version", "local-issuer.jwks.json"}
"""The layout's number, and the public key."""


def test_files_and_folders_are_private(aftermath: Aftermath) -> None:
    data_dir = aftermath.live.data_dir
    modes = dict(modes_below(data_dir))
    assert {name for name in modes if name.endswith(".sqlite3")} >= {"work-publisher/store.sqlite3"}
    assert any(name.startswith("blobs/evaluation/") for name in modes)
    loose = {name: oct(mode) for name, mode in modes.items() if mode & 0o077 and Path(name).name not in OPEN_TO_ALL}
    assert loose == {}
    assert (mode_of(data_dir), mode_of(data_dir / "keys")) == (0o700, 0o700)
    assert mode_of(data_dir / "keys" / "local-issuer.pem") == 0o600


def test_minting_before_the_first_start_leaves_private_files(tmp_path: Path) -> None:
    """`aex token` before the first `aex up`, under a permissive umask, makes a private directory."""
    data_dir = tmp_path / "new" / ".aex"
    command = ["-m", "aex_cli", "token", "--role", "consumer", "--sub", "acme", "--data-dir", str(data_dir)]
    done = subprocess.run(
        [sys.executable, *command], env=clean_environment(), umask=0, capture_output=True, text=True, check=True
    )
    assert done.stdout.count(".") == 2
    assert mode_of(data_dir) == 0o700
    assert {name: mode for name, mode in modes_below(data_dir) if mode & 0o022} == {}
    assert mode_of(data_dir / "keys" / "local-issuer.pem") == 0o600


def test_sockets_listen_on_loopback_only(aftermath: Aftermath) -> None:
    """After the story: a socket that sends is bound by its first datagram."""
    listening = [
        connection.laddr.ip
        for each in aftermath.live.running.descendants()
        for connection in each.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN or connection.type.name == "SOCK_DGRAM"
    ]
    assert len(listening) >= 4
    assert {*listening} <= {"127.0.0.1", "::1"}
    assert (HOST, RuntimeSettings.model_fields["host"].default) == ("127.0.0.1", "127.0.0.1")


def test_no_secret_is_in_a_command_line_or_a_worker(aftermath: Aftermath) -> None:
    """After the story: others on the machine may read command lines, and workers run hostile candidates."""
    pem = (aftermath.live.data_dir / "keys" / "local-issuer.pem").read_text().splitlines()[1]
    family = aftermath.live.running.descendants()
    for each in family:
        assert REVIEWER_KEY not in " ".join(each.cmdline())
        visible = " ".join([*each.cmdline(), *each.environ().values()])
        assert pem not in visible
        assert "eyJ" not in visible
    workers = [each for each in family if "-I" in each.cmdline()[:3]]
    assert len(workers) >= 3
    for each in workers:
        assert {name for name, value in each.environ().items() if "AEX" in name or REVIEWER_KEY in value} == set()


def modes_below(root: Path) -> Iterator[tuple[str, int]]:
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder) / name for name in files)):
            try:
                mode = mode_of(path)
            except FileNotFoundError:  # a journal that came and went
                continue
            yield str(path.relative_to(root)), mode


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
