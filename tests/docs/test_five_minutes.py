"""The README's five minutes, from a fresh clone, word by word."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.docs.documents import README, RUN, Block, blocks_under
from tests.docs.fresh_clone import clone_into, install
from tests.docs.own_network import own_network
from tests.docs.reader import PORTS, assert_matches_document, moved_to, reader_environment, script_of
from tests.docs.tried import FIVE_MINUTES
from tests.libs.cli.suites import free_ports

FIVE_MINUTES_S = 300
IN_ANOTHER_TERMINAL = """
make up > suite.out 2> suite.err &
SUITE=$!
trap 'kill -TERM $SUITE; wait $SUITE || true' EXIT
until grep -q ^ready suite.out; do kill -0 $SUITE || { cat suite.err >&2; exit 1; }; sleep 0.2; done
"""


def five_minutes() -> list[Block]:
    """Return the commands of the README after `make up`."""
    start, *steps = blocks_under(README, FIVE_MINUTES)
    assert (start.kind, start.text) == (RUN, "make up\n")
    return steps


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(900)  # the set-up is not part of the five minutes
def test_a_fresh_clone_is_through_in_five_minutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    clone = clone_into(tmp_path)
    begun = time.monotonic()
    install(clone)
    installed = time.monotonic()
    steps = five_minutes()
    printed = followed(steps, clone)
    taken = {"installed_s": round(installed - begun, 1), "five_minutes_s": round(time.monotonic() - installed, 1)}
    for name, seconds in taken.items():
        record_property(name, seconds)
    with capsys.disabled():
        print(f"\n{taken}")  # noqa: T201 the measured time
    assert (clone / "suite.out").read_text(encoding="utf-8").startswith("ready work-publisher=http://127.0.0.1:")
    assert_matches_document(steps, printed)


def followed(steps: Sequence[Block], clone: Path) -> str:
    """Run the README's commands and return what was printed.

    The ports are those that the README names where a separate network can be made.
    """
    alone = own_network()
    script = IN_ANOTHER_TERMINAL + script_of(steps)
    if not alone:
        script = moved_to(script, free_ports(len(PORTS)))
    with subprocess.Popen(
        [*alone, "bash", "-eu", "-c", script],
        cwd=clone,
        env=reader_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as reader:
        try:
            printed, complaints = reader.communicate(timeout=FIVE_MINUTES_S)
        except BaseException:
            os.killpg(reader.pid, signal.SIGTERM)
            raise
    assert reader.returncode == 0, f"{printed}\n{complaints}\n{(clone / 'suite.err').read_text(encoding='utf-8')}"
    return printed
