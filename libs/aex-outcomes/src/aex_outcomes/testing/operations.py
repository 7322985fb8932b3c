"""Operations on the program's objects that a tester may request by name."""

import operator
from collections.abc import Callable, Mapping
from typing import Any


def _ask(value: Any, method: str, *arguments: Any) -> Any:
    """Call a method by its name; special methods are looked up on the type."""
    if method.startswith("__") and method.endswith("__"):
        return getattr(type(value), method)(value, *arguments)
    return getattr(value, method)(*arguments)


def _exit(value: Any, kind: Any, error: Any) -> bool:
    return bool(type(value).__exit__(value, kind, error, None))


BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "matmul": operator.matmul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "pow": operator.pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
"""Operators between two objects of the program, by the name within their special method."""
UNARY: Mapping[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "invert": operator.invert,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "iter": iter,
    "next": next,
    "reversed": reversed,
    "dir": dir,
}
"""Operators of one object of the program, by the name within their special method."""
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **BINARY,
    **UNARY,
    "ask": _ask,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "enter": lambda value: type(value).__enter__(value),
    "exit": _exit,
    "format": format,
    "round": round,
    "isinstance": isinstance,
    "issubclass": issubclass,
}
"""Operations by name."""
