"""Lets so many verifications in at once: what waits for a worker must not fill the queue of others."""

from aex_runtime.http import turnstile


class Turnstile(turnstile.Turnstile):
    """The runtime's, for verifications unless something else is named."""

    def __init__(self, of_one: int, of_all: int, what: str = "verifications", full: str = "verifier_busy") -> None:
        super().__init__(of_one, of_all, what, full)
