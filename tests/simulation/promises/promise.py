"""The error for a broken promise, and the check that raises it."""


class BrokenPromise(AssertionError):
    """A broken promise of the suite; the first words name it."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name


def require_promise(kept: bool, name: str, detail: str) -> None:
    """Raise `BrokenPromise` with this name and detail unless `kept` is true."""
    if not kept:
        raise BrokenPromise(name, detail)
