"""Handles of the program's objects in the tester.

Comparisons with expected values stay in the tester: `==` and `hash` compare identity, and `in` iterates. An operator
with a plain operand is a `TypeError`. So an object whose `__eq__` always returns True equals nothing here.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from aex_outcomes.testing.operations import BINARY, UNARY

Apply = Callable[..., Any]


class Handle:
    """Reference to an object of the program; each use of it is a request to the candidate process."""

    __slots__ = ("_aex_client", "_aex_id", "_aex_type")
    __hash__ = object.__hash__

    def __init__(self, client: Any, object_id: int, type_name: str) -> None:
        object.__setattr__(self, "_aex_client", client)
        object.__setattr__(self, "_aex_id", object_id)
        object.__setattr__(self, "_aex_type", type_name)

    def __getattr__(self, name: str) -> Any:
        return self._aex_client.request("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._aex_client.request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._aex_client.request("delete", self, name)

    def __getitem__(self, key: Any) -> Any:
        return self._aex_client.apply("getitem", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._aex_client.apply("setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        self._aex_client.apply("delitem", self, key)

    def __enter__(self) -> Any:
        return self._aex_client.apply("enter", self)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        return bool(self._aex_client.apply("exit", self, kind, error))

    def __format__(self, spec: str) -> str:
        return str(self._aex_client.apply("format", self, spec))

    def __round__(self, *digits: int) -> Any:
        return self._aex_client.apply("round", self, *digits)

    def __instancecheck__(self, value: Any) -> bool:
        return bool(self._aex_client.apply("isinstance", value, self))

    def __subclasscheck__(self, kind: Any) -> bool:
        return bool(self._aex_client.apply("issubclass", kind, self))

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"an object of the program cannot be copied or pickled ({self._aex_type})")


class CallableHandle(Handle):
    """Reference to a function, class or other callable of the program."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the object in the candidate process, and write its changes of mutable arguments back."""
        return self._aex_client.request("call", self, list(arguments), keywords)


def _binary(name: str) -> Callable[[Handle, Any], Any]:
    def apply(self: Handle, other: Any) -> Any:
        return self._aex_client.apply(name, self, other) if isinstance(other, Handle) else NotImplemented

    return apply


def _unary(name: str) -> Callable[[Handle], Any]:
    def apply(self: Handle) -> Any:
        return self._aex_client.apply(name, self)

    return apply


for _name in BINARY:
    setattr(Handle, f"__{_name}__", _binary(_name))
for _name in UNARY:
    setattr(Handle, f"__{_name}__", _unary(_name))
