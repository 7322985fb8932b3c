"""A separate network in which the ports that documents name are free."""

import shutil
import subprocess
import sys

_WAYS = (
    ("unshare", "--net"),
    ("unshare", "--user", "--map-current-user", "--net", "--keep-caps"),
)
"""Possible as root, and for other users where the kernel lets them make namespaces."""
_WITH_LOOPBACK = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def own_network() -> list[str]:
    """Return the command prefix for a loopback-only network; empty where the kernel allows none."""
    if shutil.which("unshare") is None:
        return []
    prefixes = ([*way, sys.executable, "-c", _WITH_LOOPBACK] for way in _WAYS)
    return next((prefix for prefix in prefixes if _works(prefix)), [])


def _works(prefix: list[str]) -> bool:
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
