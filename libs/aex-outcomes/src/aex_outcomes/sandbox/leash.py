"""An interpreter ends with the worker that started it, however that ends: also killed, with no time for anything.

The kernel signals a parent's death only to children that asked for it themselves, which the interpreter does not. But
it signals a closed pipe to whom the pipe names: the child holds the end that tells, this process alone the other.
"""

import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Iterator


class Leash:
    """A pipe to one child. A system that has no such signal leaves the child to its limit of processor time."""

    def __init__(self) -> None:
        self._theirs, self._ours = os.pipe()

    @contextlib.contextmanager
    def handed_over(self) -> Iterator[None]:
        """A child that starts in this block holds its end, and nobody else; `hold` it before the block is left."""
        os.set_inheritable(self._theirs, True)
        try:
            yield
        finally:
            os.close(self._theirs)

    def hold(self, child: int) -> None:
        """From now on the child is killed once this process has closed its end, or has ended."""
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # a kernel in user space has no such signal: the limit remains
                fcntl.fcntl(self._theirs, fcntl.F_SETOWN, child)
                fcntl.fcntl(self._theirs, fcntl.F_SETSIG, signal.SIGKILL)
                flags = fcntl.fcntl(self._theirs, fcntl.F_GETFL)
                fcntl.fcntl(self._theirs, fcntl.F_SETFL, flags | os.O_ASYNC)

    def close(self) -> None:
        """Let go, which kills a child that is still there."""
        os.close(self._ours)
