"""A hostile piece of code and its expected end."""

from dataclasses import dataclass

from aex_outcomes.sandbox.port import FaultKind

CANARY = 774_411_905
"""Secret in a file and in the environment of the service that must not leave it."""

FILE, PORT = "%FILE%", "%PORT%"
"""Placeholders in code for the secret's file and the port of a listening socket."""


@dataclass(frozen=True, slots=True)
class Abuse:
    """Hostile code and its end: one of two kinds of fault, or a harmless value."""

    name: str
    code: str
    end: FaultKind | frozenset[FaultKind] | float

    @property
    def timeout_ms(self) -> int:
        """Little for what never ends; for the rest so much that a busy machine does not end it."""
        return _TIMEOUTS_MS.get(self.end, 5_000)


SPENT = frozenset({FaultKind.TIMEOUT, FaultKind.MEMORY})
"""The end of what uses up both: which one is over first, the machine's load decides."""
_TIMEOUTS_MS: dict[object, int] = {FaultKind.TIMEOUT: 400, SPENT: 1_200}
E = FaultKind.EXCEPTION
NO_SYNTAX = FaultKind.SYNTAX


def body(statements: str, before: str = "") -> str:
    """The code whose `evaluate` consists of these statements."""
    lines = "\n".join(f"    {line}" for line in statements.splitlines())
    return f"{before}\ndef evaluate(input, output, metadata):\n{lines}\n"


def returns(expression: str, before: str = "") -> str:
    """The code whose `evaluate` returns the expression."""
    return body(f"return {expression}", before)


def using(module: str, expression: str) -> str:
    """The code that imports a module, and whose `evaluate` returns the expression."""
    return returns(expression, f"import {module}")
