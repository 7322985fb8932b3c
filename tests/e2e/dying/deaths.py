"""Orders to die: the test writes them, and the processes of the suite execute each of them once."""

import os
import signal
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

_VARIABLE = "TEST_DEATHS"
ANY_SUBJECT = ""


class Moment(StrEnum):
    """On which side of the step."""

    BEFORE = "before"
    AFTER = "after"


class Deaths:
    """A folder of orders, a file each; those that were carried out lie in a folder of their own.

    `victim`: the process that dies; its own, where nothing else is said.
    """

    def __init__(self, folder: Path, victim: Callable[[], int] = os.getpid) -> None:
        self._ordered, self._done, self._pids = folder / "ordered", folder / "done", folder / "pids"
        self._victim = victim
        for each in (self._ordered, self._done, self._pids):
            each.mkdir(parents=True, exist_ok=True)

    @classmethod
    def execute_order(cls) -> "Deaths":
        """Execute an order for this process."""
        return cls(Path(os.environ[_VARIABLE]))

    @staticmethod
    def ordered_in(folder: Path) -> Mapping[str, str]:
        """The variable by which the suite's processes find the orders."""
        return {_VARIABLE: str(folder)}

    def order(self, step: str, moment: Moment, subject: str = ANY_SUBJECT) -> None:
        """Order the process to die at the step, for this subject or for the first one."""
        name = _name(step, moment)
        draft = self._ordered.parent / name
        draft.write_text(subject)
        draft.rename(self._ordered / name)  # whole, or not there

    def at(self, step: str, moment: Moment, subject: str) -> None:
        """Die here, if that was ordered and has not happened yet."""
        order = self._ordered / _name(step, moment)
        try:
            if order.read_text() not in {ANY_SUBJECT, subject}:
                return
            order.rename(self._done / order.name)
        except FileNotFoundError:  # no order, or another process executed it
            return
        os.kill(self._victim(), signal.SIGKILL)

    def happened(self, step: str, moment: Moment) -> bool:
        """Return whether the process has died by this order."""
        return (self._done / _name(step, moment)).exists()

    def known_as(self, name: str) -> None:
        """Let others find this process by a name."""
        (self._pids / name).write_text(str(os.getpid()))

    def of(self, name: str) -> "Deaths":
        """The same orders, but another process dies: the one that is known by this name then."""
        return Deaths(self._done.parent, lambda: int((self._pids / name).read_text()))


def _name(step: str, moment: Moment) -> str:
    return f"{moment}-{step}"
