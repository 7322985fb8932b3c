"""A promise that was broken, by its name."""


class BrokenPromise(AssertionError):
    """A broken promise of the suite; the first words name it."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name


def promise(kept: bool, name: str, detail: str) -> None:
    """Raise `BrokenPromise` where it is not kept."""
    if not kept:
        raise BrokenPromise(name, detail)
