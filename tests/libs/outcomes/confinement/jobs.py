import ctypes
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = __name__
_kept: list[Any] = []


def echo(payload: dict[str, Any]) -> dict[str, Any]:
    return payload


def nothing(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    return {}


def who(payload: dict[str, Any]) -> dict[str, Any]:
    time.sleep(payload.get("sleep_s", 0))
    return {"pid": os.getpid(), "tag": payload.get("tag")}


def hold(payload: dict[str, Any]) -> dict[str, Any]:
    """Run until the file is deleted, then return the tag."""
    while Path(payload["file"]).exists():
        time.sleep(0.005)
    return {"tag": payload["tag"]}


def fail(payload: dict[str, Any]) -> dict[str, Any]:
    raise ValueError(payload["message"])


def exit_interpreter(payload: dict[str, Any]) -> dict[str, Any]:
    sys.exit(payload["status"])


def not_json(payload: dict[str, Any]) -> dict[str, Any]:
    return {"value": {"nan": float("nan"), "object": object(), "surrogate": "\ud800"}[payload["what"]]}


def not_a_dict(payload: dict[str, Any]) -> Any:
    del payload
    return [1, 2, 3]


def big_integer(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    return {"value": 2**60}


def loop(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    while True:
        pass


def native(payload: dict[str, Any]) -> dict[str, Any]:
    return {"digits": (3 ** payload["power"]) % 10}


def eat_memory(payload: dict[str, Any]) -> dict[str, Any]:
    """Ask for memory without end, and touch it. Keeps what it has where told to survive the refusal."""
    kept = _kept if payload.get("keep") else []
    for _ in range(payload["chunks"]):
        kept.append(b"x" * payload["bytes"])
    return {"held": len(kept)}


def take_all_memory(payload: dict[str, Any]) -> dict[str, Any]:
    """Allocate until refused; return the largest resident size of this process in bytes."""
    del payload
    try:
        while True:
            _kept.append(bytearray(1 << 20))
    except MemoryError:
        _kept.clear()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return {"most": int(status.partition("VmHWM:")[2].split()[0]) << 10}


def leak(payload: dict[str, Any]) -> dict[str, Any]:
    _kept.append(b"x" * payload["bytes"])
    return {"pid": os.getpid()}


def exit_hard(payload: dict[str, Any]) -> dict[str, Any]:
    os._exit(payload["status"])


def segfault(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    ctypes.string_at(0)
    return {}


def abort(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    os.abort()


def _pipe() -> int:
    """The worker's end of its pair of sockets, found as an attacker would find it."""
    for number in range(3, 1024):
        try:
            if Path(f"/proc/self/fd/{number}").readlink().name.startswith("socket:"):
                return number
        except OSError:
            continue
    raise LookupError("no socket")


def garbage(payload: dict[str, Any]) -> dict[str, Any]:
    os.write(_pipe(), bytes.fromhex(payload["hex"]))
    return {"honest": True}


def speak_later(payload: dict[str, Any]) -> dict[str, Any]:
    """Answer honestly, and then write once more, when the next job may be running."""

    def speak() -> None:
        time.sleep(payload["after_s"])
        body = b'{"result":{"forged":true},"retire":false}'
        os.write(_pipe(), len(body).to_bytes(4, "big") + body)

    threading.Thread(target=speak, daemon=True).start()
    return {"pid": os.getpid()}


def close_pipe_and_stay(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    os.close(_pipe())
    time.sleep(60)
    return {}


def chatter(payload: dict[str, Any]) -> dict[str, Any]:
    print("not an answer" * 1000)  # noqa: T201 that is the point
    sys.stderr.write("nor this\n")
    os.write(1, b"\x00\x00\x00\x02{}")
    return {"stdin": sys.stdin.read(), **payload}


def huge(payload: dict[str, Any]) -> dict[str, Any]:
    return {"text": "x" * payload["bytes"]}


def surroundings(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    return {
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "session": os.getsid(0) == os.getpid() == os.getpgrp(),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "descriptors": sorted(int(entry.name) for entry in Path("/proc/self/fd").iterdir()),
        "core": resource.getrlimit(resource.RLIMIT_CORE)[1],
        "file_size": resource.getrlimit(resource.RLIMIT_FSIZE)[1],
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "uid": os.getuid(),
        "status": dict(
            line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
        ),
        "streams": [str(Path(f"/proc/self/fd/{number}").readlink()) for number in range(3)],
    }


def attempt(payload: dict[str, Any]) -> dict[str, Any]:
    """Try something that a worker may not do; tells the errno, or 0 where it went through."""
    try:
        ATTEMPTS[payload["what"]](payload)
    except OSError as error:
        return {"errno": error.errno}
    return {"errno": 0}


def _fork(_: dict[str, Any]) -> None:
    if os.fork() == 0:
        os._exit(0)


def _raise_limit(_: dict[str, Any]) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError as error:
        raise PermissionError(1, str(error)) from None


def _raw(number: int, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(word) for word in (number, *arguments)]
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _outlive_parent(_: dict[str, Any]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(1, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "refused")


ATTEMPTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "fork": _fork,
    "exec": lambda _: os.execve("/bin/true", ["true"], {}),  # noqa: S606 it must be refused
    "spawn": lambda _: os.posix_spawn("/bin/true", ["true"], {}),
    "socket": lambda _: socket.socket().close(),
    "unix socket": lambda _: socket.socket(socket.AF_UNIX).close(),
    "kill the service": lambda _: os.kill(os.getppid(), signal.SIGTERM),
    "look at the service": lambda _: os.kill(os.getppid(), 0),
    "limit the service": lambda _: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)),
    "slow the service": lambda _: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    "write": lambda job: Path(job["path"]).write_text("x"),
    "truncate": lambda job: os.truncate(job["path"], 0),
    "delete": lambda job: Path(job["path"]).unlink(),
    "rename": lambda job: Path(job["path"]).rename(job["path"] + ".moved"),
    "chmod": lambda job: Path(job["path"]).chmod(0o777),
    "make folder": lambda job: Path(job["path"] + ".folder").mkdir(),
    "memory file": lambda _: os.close(os.memfd_create("x")),
    "more memory": _raise_limit,
    "outlive the service": _outlive_parent,
    "io_uring": lambda _: _raw(425, 8, 0),
    "a young call": lambda _: _raw(460),
}


def use_thread(payload: dict[str, Any]) -> dict[str, Any]:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(payload["value"]))
    thread.start()
    thread.join()
    return {"seen": seen}


def warmed(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: name in sys.modules for name in payload["modules"]}
