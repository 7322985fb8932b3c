"""A container without its engine: a root file system of its own; this machine lends it system libraries and Python.

Instructions are run as the Dockerfile has them, under the paths that it names. What is not the same: the system below
them is this machine's and not the image's, `apt-get` is not run, and there are no bounds of memory and processor.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LENT = ("/usr", "/etc")
_LINKED = ("/bin", "/lib", "/lib64", "/sbin")
PREFIX = Path(sys.base_prefix).resolve()
"""The Python that stands in for the image's; at its own path, since environments name it."""
_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
_UNTOUCHED = ("TMPDIR", "HOME", "PATH", "VIRTUAL_ENV", "PYTHON", "UV_", "AEX_", "PYTEST")
PATH = f"{PREFIX}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Rootfs:
    """A folder that is the root of what runs in it."""

    root: Path

    @classmethod
    def made(cls, root: Path) -> "Rootfs":
        """An empty one, with the places that a system has."""
        for name in ("app", "dev", "proc", "tmp", "usr", "etc", "root", "src", *PREFIX.parts[1:2]):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / str(PREFIX).lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name in _LINKED:
            link = Path(name)
            if link.is_symlink():
                (root / name[1:]).symlink_to(link.readlink())
            elif link.is_dir():
                (root / name[1:]).mkdir()
        return cls(root)

    def place(self, path: str) -> Path:
        """Where a path of the container is on this machine."""
        return self.root / path.lstrip("/")

    def copy(self, origin: Path, path: str) -> None:
        """As COPY does: what is in a folder, or one file. Links stay links."""
        target = self.place(path)
        if origin.is_dir():
            shutil.copytree(origin, target, symlinks=True, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target)

    def run(self, script: str, folder: str, environment: Mapping[str, str], mounts: Mapping[Path, str]) -> None:
        """Run a shell line as root, as RUN does; `mounts`: a folder of this machine → where it is seen."""
        variables = {**_registry(), "HOME": "/root", "PATH": PATH, **environment}
        command = self._entered(["/bin/sh", "-c", script], folder, variables, mounts, read_only=False)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=540)
        if done.returncode:
            raise RuntimeError(f"{script}\n{done.stdout}{done.stderr}")

    @contextmanager
    def container(
        self, command: Sequence[str], folder: str, environment: Mapping[str, str], data: Path, log: Path
    ) -> Iterator["Container"]:
        """A process as a hardened container has it: the first one, of a user that is nobody here, without
        capabilities, on a root that is read-only but for `/tmp` (in memory) and `/data`. Killed at the end."""
        started = self._entered(_as_user(command), folder, environment, {data: "/data"}, read_only=True)
        with (
            log.open("wb") as output,
            subprocess.Popen(
                started, stdout=output, stderr=output, text=True, env={"PATH": os.environ["PATH"]}
            ) as process,
        ):
            try:
                yield Container(process, folder, environment)
            finally:
                process.kill()  # and with it, by --kill-child, all that is in its namespace

    def _entered(
        self,
        command: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        mounts: Mapping[Path, str],
        *,
        read_only: bool,
    ) -> list[str]:
        root = shlex.quote(str(self.root))
        lines = ["set -e", "mount --make-rprivate /", f"mount --bind {root} {root}"]
        lent = [*_LENT, str(PREFIX), *(name for name in _LINKED if not Path(name).is_symlink() and Path(name).is_dir())]
        for origin in lent:
            lines += [f"mount --bind {origin} {root}{origin}", f"mount -o remount,bind,ro {root}{origin}"]
        lines += [f"mount --rbind /dev {root}/dev", f"mount -t proc proc {root}/proc"]
        lines += [f"mount -t tmpfs -o mode=1777,size=256m tmpfs {root}/tmp"] if read_only else []  # noqa: S108 its own
        for origin_path, target in mounts.items():
            self.place(target).mkdir(parents=True, exist_ok=True)
            lines.append(f"mount --bind {shlex.quote(str(origin_path))} {root}{target}")
        lines += [f"mount -o remount,bind,ro {root}"] if read_only else []
        entered = ["chroot", str(self.root), "env", "-i", f"--chdir={folder}", *_assignments(environment), *command]
        lines.append(f"exec {shlex.join(entered)}")
        return [*_NAMESPACES, "/bin/sh", "-c", "\n".join(lines)]


@dataclass(frozen=True, slots=True)
class Container:
    """What runs."""

    outer: "subprocess.Popen[str]"
    folder: str
    environment: Mapping[str, str]

    @property
    def pid(self) -> int:
        """Of its first process, as this machine counts."""
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text(encoding="ascii").split()
        return int(children[0])

    def run_beside(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a command in it, as a health check is run."""
        target = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--root", f"--wdns={self.folder}"]
        inside = ["env", "-i", *_assignments(self.environment), *_as_user(command)]
        return subprocess.run([*target, *inside], capture_output=True, text=True, check=False, timeout=60)

    def processes(self) -> list[str]:
        """`state command` of all that is in it: `Z` is one that nobody has buried."""
        listed = self.run_beside(["ps", "-eo", "stat=,comm="])
        return [" ".join(line.split()) for line in listed.stdout.splitlines()]


def _as_user(command: Sequence[str]) -> list[str]:
    bounds = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    return ["setpriv", "--reuid=10001", "--regid=10001", *bounds, *command]


def _assignments(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]


def _registry() -> dict[str, str]:
    """What of our own environment says where packages come from."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_UNTOUCHED)}
