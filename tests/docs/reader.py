"""A reader who runs a document block after block in one terminal, in an empty folder."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tests.docs.documents import DOCUMENTED, RUN, Block

PORTS = range(8081, 8085)
GAP = "…"
"""Stands for anything within a line; alone on a line for any number of lines."""
_NEXT = "\x1e"
_HEREDOC = "END_OF_THE_FILE"


def script_of(blocks: Sequence[Block]) -> str:
    """Return the blocks as one bash script that prints a mark before the output of each block."""
    return "".join(_typed(block) for block in _done(blocks))


def _done(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if (block.kind == RUN and not block.mark) or block.file]


def _typed(block: Block) -> str:
    if block.file:
        folder = Path(block.file).parent
        return f"printf '\\036'\nmkdir -p {folder}\ncat > {block.file} <<'{_HEREDOC}'\n{block.text}{_HEREDOC}\n"
    return f"printf '\\036'\n{block.text}"


def assert_matches_document(blocks: Sequence[Block], printed: str) -> None:
    """Assert that everything the document shows was printed."""
    outputs = dict(zip(map(id, _done(blocks)), printed.split(_NEXT)[1:], strict=True))
    for block, follower in pairwise(blocks):
        if id(block) in outputs and follower.kind == DOCUMENTED:
            found, visible = outputs[id(block)], follower.text
            assert matches_output(found, visible), f"{block.text}\nprinted\n{found}\nand not\n{visible}"


def matches_output(printed: str, documented: str) -> bool:
    """Return whether `documented` equals `printed` apart from its gaps."""
    ended = printed if not printed or printed.endswith("\n") else printed + "\n"
    return re.fullmatch("".join(map(_pattern, documented.splitlines())), ended) is not None


def _pattern(line: str) -> str:
    if line.strip() == GAP:
        return r"(?:[^\n]*\n)*"
    return r"[^\n]*".join(re.escape(part) for part in line.split(GAP)) + r"\n"


def moved_to(script: str, port: int) -> str:
    """The script for a suite on other ports than those that documents name."""
    for location, known in enumerate(PORTS):
        for host in ("localhost", "127.0.0.1"):
            script = script.replace(f"{host}:{known}", f"{host}:{port + location}")
    script = script.replace("Endpoints.local()", f"Endpoints.local({port})")
    return re.sub(r"\bmake up\b", f".venv/bin/aex up --port-base {port}", script)


def read_along(blocks: Sequence[Block], folder: Path, port: int, within_s: float = 240) -> str:
    """Run the blocks on a suite at this port and return everything that was printed.

    The data directory is the folder's, which gets this Python as its `.venv`. Fails at the first command that fails.
    """
    venv = folder / ".venv"
    if not venv.exists():
        venv.symlink_to(sys.prefix)
    done = subprocess.run(
        ["bash", "-eu", "-c", moved_to(script_of(blocks), port)],
        cwd=folder,
        env=reader_environment()
        | {
            "AEX_WORK_PUBLISHER_URL": f"http://127.0.0.1:{port}",
            "AEX_VERIFICATION_URL": f"http://127.0.0.1:{port + 1}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def reader_environment() -> dict[str, str]:
    """Return the environment of a new login shell: no variables of the tests and no virtual environment."""
    kept = ("HOME", "LANG", "LC_ALL", "TMPDIR", "UV_CACHE_DIR", "XDG_CACHE_HOME")
    own = Path(sys.prefix) / "bin"
    path = [each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != own]
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PATH": os.pathsep.join(path),
        "NO_PROXY": "*",
    }
