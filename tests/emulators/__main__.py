"""`python -m tests.emulators` runs the emulators until it is stopped, or for one command."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.emulators.emulator import EmulatorFailed
from tests.emulators.emulators import Emulators, start_emulators
from tests.emulators.jars import EmulatorsMissing, Jars, find_jars

_PROJECT = "aex-local"
_FAILED, _MISSING, _SIGNALLED = 1, 2, 128


def main(arguments: list[str]) -> int:
    """Run both emulators until a signal, or until a command ends, and return the exit code.

    `arguments`: the command, if any. No process is left running.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.emulators", description=__doc__)
    commands = parser.add_subparsers(dest="what")
    commands.add_parser("where", help="say which emulators there are, and which Java")
    run = commands.add_parser("run", help="run a command with the emulators, and end as it does")
    run.add_argument("command", nargs="+", help="after --")
    requested = parser.parse_args(arguments)
    if requested.what == "run" and shutil.which(requested.command[0]) is None:
        sys.stderr.write(f"{requested.command[0]}: no such command\n")
        return _MISSING
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell has what it starts in the background ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    try:
        jars = find_jars(os.environ)
        if requested.what == "where":
            return _print_addresses(jars)
        with TemporaryDirectory(prefix="aex-emulators-") as logs, start_emulators(jars, Path(logs)) as emulators:
            return _run(emulators, requested.command) if requested.what == "run" else _stay(emulators)
    except EmulatorsMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return _MISSING
    except EmulatorFailed as failed:
        sys.stderr.write(f"{failed}\n")
        return _FAILED
    except KeyboardInterrupt:
        return _SIGNALLED + signal.SIGINT


def _print_addresses(jars: Jars) -> int:
    sys.stdout.write(f"firestore emulator: {jars.firestore}\npubsub emulator: {jars.pubsub}\n")
    sys.stdout.flush()
    return subprocess.run([jars.java, "-version"], stderr=sys.stdout, check=False).returncode


def _stay(emulators: Emulators) -> int:
    for name, value in emulators.project_environment(_PROJECT).items():
        sys.stdout.write(f"export {name}={value}\n")
    sys.stdout.flush()
    sys.stderr.write("The emulators run, with all they hold in memory, until Ctrl-C.\n")
    threading.Event().wait()
    return 0


def _run(emulators: Emulators, command: list[str]) -> int:
    child = subprocess.Popen(command, env={**os.environ, **emulators.project_environment(_PROJECT)})
    # Ctrl-C reaches the command by itself: the emulators have to outlive it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: child.send_signal(number))
    code = child.wait()
    sys.stderr.write("The emulators are stopped, what they held is gone; `make emulators` keeps a pair running.\n")
    return code if code >= 0 else _SIGNALLED - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
