"""A tester uses a program in another process as if it were in its own."""

import collections
import json
import socket
import struct
import types
from collections.abc import Iterator
from typing import Any

import pytest

from aex_outcomes.testing.connection import MAX_MESSAGE_BYTES, ConnectionLost, MessageConnection, MessageTooLarge
from aex_outcomes.testing.program_client import ProgramClient
from aex_outcomes.testing.program_modules import ProgramFinder, ProgramModule
from aex_outcomes.testing.value_decoder import ProtocolError
from tests.libs.outcomes.testing.served import ServedProgram, serve

PROGRAM = """
class Refused(ValueError): pass
class Coded:
    code = 5
class TooLate(Refused, Coded): pass
class Garbled(UnicodeDecodeError):
    def __init__(self, text): pass
class Box:
    def __init__(self, *items): self.items = list(items)

LIMIT = 7
_PRIVATE = 8
shared = Box()

def read_limit(): return LIMIT
def same(value): return value
def kind(value): return type(value).__name__
def fail(kind, *arguments): raise kind(*arguments)
def refuse(*arguments): raise TooLate(*arguments)
def garble(): raise Garbled("x")
def leave(): raise SystemExit(3)
def long_text(length): return "x" * length
def deep_list(depth):
    found = []
    for _ in range(depth): found = [found]
    return found
def add(values):
    if hasattr(values, "keys"): values[1] = 2
    elif hasattr(values, "append"): values.append(1)
    else: values.add(1)
    return values
def add_and_fail(values): values.append(1); raise KeyError
"""


@pytest.fixture
def served() -> Iterator[ServedProgram]:
    with serve({"solution.py": PROGRAM, "pack/part.py": "__all__ = ['X']\nX, Y = 1, 2"}) as program:
        yield program


@pytest.fixture
def program(served: ServedProgram) -> ProgramModule:
    return served.load()


def test_values_are_copied_and_objects_keep_their_identity(program: ProgramModule) -> None:
    assert program.LIMIT == 7
    assert program.same([1, (2, "x")]) == [1, (2, "x")]
    assert program.shared is program.shared
    assert program.same(program.shared) is program.shared
    assert program.Box() is not program.Box()


def test_attributes_are_set_and_deleted_in_the_program(program: ProgramModule) -> None:
    program.LIMIT = 9
    assert program.read_limit() == 9
    box = program.Box(1)
    box.items = [2]
    assert box.items == [2]
    del box.items
    with pytest.raises(AttributeError, match="items"):
        _ = box.items


@pytest.mark.parametrize(
    ("argument", "changed"),
    [
        ([0], [0, 1]),
        ({0: 0}, {0: 0, 1: 2}),
        ({0}, {0, 1}),
        (bytearray(b"\0"), bytearray(b"\0\1")),
        (collections.deque([0], 2), collections.deque([0, 1], 2)),
        (collections.OrderedDict({0: 0}), collections.OrderedDict({0: 0, 1: 2})),
        (collections.defaultdict(int, {0: 0}), collections.defaultdict(int, {0: 0, 1: 2})),
    ],
)
def test_changes_of_a_mutable_argument_reach_the_tester(program: ProgramModule, argument: Any, changed: Any) -> None:
    assert program.add(argument) is argument
    assert (type(argument), argument) == (type(changed), changed)


def test_changes_before_an_error_are_kept(program: ProgramModule) -> None:
    values: list[int] = []
    with pytest.raises(KeyError):
        program.add_and_fail(values)
    assert values == [1]


def test_an_exception_of_the_program_has_the_bases_and_the_arguments_of_the_program(program: ProgramModule) -> None:
    with pytest.raises(ValueError, match="no") as caught:
        program.refuse("no", 3)
    assert caught.value.args == ("no", 3)
    assert type(caught.value) is program.TooLate
    assert [each.__name__ for each in type(caught.value).__mro__[:3]] == ["TooLate", "Refused", "ValueError"]
    assert issubclass(program.TooLate, program.Refused)


def test_a_base_that_is_no_exception_stays_in_the_program(program: ProgramModule) -> None:
    with pytest.raises(program.TooLate) as caught:
        program.refuse()
    assert not hasattr(caught.value, "code")


def test_exceptions_go_to_the_program_as_its_own(program: ProgramModule) -> None:
    assert program.kind(program.Refused("no")) == "Refused"
    assert program.kind(KeyError("no")) == "KeyError"
    assert program.same(program.Refused) is program.Refused
    with pytest.raises(program.Refused, match="no"):
        program.fail(program.Refused, "no")


def test_an_exception_that_needs_other_arguments_keeps_those_it_has(program: ProgramModule) -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        program.garble()
    assert caught.value.args == ("x",)
    assert type(caught.value) is program.Garbled


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_no_exception_of_the_program_ends_the_tester(program: ProgramModule, kind: type[BaseException]) -> None:
    with pytest.raises(Exception, match="3") as caught:
        program.fail(kind, 3)
    assert caught.type.__name__ == kind.__name__
    assert caught.type is not kind


def test_a_program_without_memory_is_remembered(served: ServedProgram) -> None:
    program = served.load()
    with pytest.raises(KeyError):
        program.fail(KeyError)
    assert not served.client.is_out_of_memory
    with pytest.raises(MemoryError):
        program.fail(MemoryError)
    with pytest.raises(KeyError):
        program.fail(KeyError)
    assert served.client.is_out_of_memory


def test_a_value_that_cannot_cross_is_an_error_of_that_call_alone(program: ProgramModule) -> None:
    with pytest.raises(TypeError, match="a function cannot be passed"):
        program.same(lambda: 1)
    with pytest.raises(MessageTooLarge):
        program.same("x" * MAX_MESSAGE_BYTES)
    with pytest.raises(ValueError, match=f"the limit is {MAX_MESSAGE_BYTES}"):
        program.long_text(MAX_MESSAGE_BYTES)
    with pytest.raises(ValueError, match="nested more than"):
        program.deep_list(1_000)
    assert program.same(5) == 5


def test_what_the_program_prints_is_printed_by_the_tester(
    served: ServedProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    program = served.load()
    served.output.write("hi!")
    assert program.same(1) == 1
    assert program.same(1) == 1
    assert capsys.readouterr().out == "hi!"


def test_a_module_of_the_program_goes_to_it_as_itself(program: ProgramModule) -> None:
    assert program.kind(program) == "module"


def test_a_star_import_reads_all_public_names(served: ServedProgram) -> None:
    names = served.load().__all__
    assert {"Box", "LIMIT", "same"} <= set(names)
    assert "_PRIVATE" not in names
    assert served.load("pack.part").__all__ == ["X"]


def test_a_name_that_the_program_lacks_is_an_attribute_error(program: ProgramModule) -> None:
    with pytest.raises(AttributeError, match="absent"):
        _ = program.absent
    with pytest.raises(AttributeError, match="anything"):
        _ = ProgramModule("not_imported").anything


def test_submodules_and_special_names_stay_in_the_tester(program: ProgramModule) -> None:
    part = types.ModuleType("solution.part")
    program.part = part
    program.__doc__ = "Tested."
    assert (program.part, program.__doc__) == (part, "Tested.")


def test_only_modules_and_packages_of_the_program_are_found(served: ServedProgram) -> None:
    finder = ProgramFinder(served.client, ["solution", "pack.part"])
    found = {name: finder.find_spec(name, None) for name in ("solution", "pack", "pack.part", "json", "part")}
    is_package = {name: spec.submodule_search_locations is not None for name, spec in found.items() if spec}
    assert is_package == {"solution": False, "pack": True, "pack.part": False}


def test_a_program_that_ended_answers_nothing_more(served: ServedProgram) -> None:
    program = served.load()
    served.disconnect()
    with pytest.raises(ConnectionLost, match="the program has ended"):
        program.same(1)
    assert served.client.is_lost
    with pytest.raises(ConnectionLost, match="the program has ended"):
        program.same(1)


def answered(reply: bytes) -> ProgramClient:
    """Return a client whose request was answered with these bytes."""
    client_end, server_end = socket.socketpair()
    client = ProgramClient(MessageConnection(client_end.fileno()))
    with client_end, server_end:
        server_end.sendall(reply)
        with pytest.raises((ConnectionLost, ProtocolError)):
            client.request("import", "solution")
    return client


def packed(reply: Any) -> bytes:
    body = json.dumps(reply).encode()
    return struct.pack(">I", len(body)) + body


NULL = {"n": [], "r": [None]}


@pytest.mark.parametrize(
    "reply",
    [
        5,
        [],
        {},
        "error",
        {"value": NULL},
        {"value": {"n": [], "r": []}, "out": ""},
        {"value": {"n": [["?"]], "r": [[0]]}, "out": ""},
        {"value": {"n": [["h", "1", True, "f"]], "r": [[0]]}, "out": ""},
        {"value": {"n": [["X", [], "eval"]], "r": [[0]]}, "out": ""},
        {"value": {"n": [["X", [[1, "a\0b"]], "ValueError"]], "r": [[0]]}, "out": ""},
        {"value": {"n": [["a", 0, ["d", []]]], "r": [[0]]}, "out": ""},
    ],
)
def test_a_reply_that_no_honest_program_sends_ends_the_program(reply: Any) -> None:
    assert answered(packed(reply)).is_lost


def test_a_reply_that_is_no_message_ends_the_program() -> None:
    assert answered(struct.pack(">I", 3) + b"abc").is_lost
    assert answered(struct.pack(">I", MAX_MESSAGE_BYTES + 1)).is_lost


@pytest.mark.parametrize("error", [5, "text", None])
def test_an_error_that_is_no_exception_is_a_protocol_error(error: Any) -> None:
    assert not answered(packed({"error": {"n": [], "r": [error]}, "out": 5})).is_lost
