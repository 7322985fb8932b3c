"""Descriptors that turn functions which build calls into methods of the clients."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from aex_client.call import Call

P = ParamSpec("P")
T = TypeVar("T")


class Sender(Protocol):
    """A client that sends a call and returns its answer."""

    def send(self, call: Call[T], /) -> T: ...


class AsyncSender(Protocol):
    """A client that sends a call and returns its answer, as a coroutine."""

    async def send(self, call: Call[T], /) -> T: ...


class CallMethod(Generic[P, T]):
    """A client method that builds a call with a function of `calls`, sends it and returns the answer.

    It has the name, the parameters and the docstring of the function.
    """

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, client: Sender, owner: type[Any]) -> Callable[P, T]: ...

    def __get__(self, client: Sender | None, owner: type[Any]) -> Self | Callable[P, T]:
        if client is None:
            return self

        @wraps(self._make)
        def send(*args: P.args, **kwargs: P.kwargs) -> T:
            return client.send(self._make(*args, **kwargs))

        return send


class AsyncCallMethod(Generic[P, T]):
    """A coroutine method that builds a call with a function of `calls`, sends it and returns the answer.

    It has the name, the parameters and the docstring of the function.
    """

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, client: AsyncSender, owner: type[Any]) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, client: AsyncSender | None, owner: type[Any]) -> Self | Callable[P, Awaitable[T]]:
        if client is None:
            return self

        @wraps(self._make)
        async def send(*args: P.args, **kwargs: P.kwargs) -> T:
            return await client.send(self._make(*args, **kwargs))

        return send
