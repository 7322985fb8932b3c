import json
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from aex_models.canonical import NotCanonical, canonical_bytes, digest, json_problem
from tests.fuzz.effort import effort, soon
from tests.fuzz.problems import is_there
from tests.fuzz.values import INVALID, JSON

APPENDIX_B = {
    "0000000000000000": "0", "8000000000000000": "0", "0000000000000001": "5e-324", "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308", "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992", "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000", "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23", "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000", "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21", "3eb0c6f7a0b5ed8c": "9.999999999999997e-7", "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332", "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333", "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343", "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}  # fmt: skip
"""RFC 8785, appendix B: the bits of a double, and its text."""


def test_doubles_of_rfc_8785_are_written_or_refused_as_there() -> None:
    for bits, text in APPENDIX_B.items():
        (number,) = struct.unpack(">d", bytes.fromhex(bits))
        assert canonical_bytes([number]).decode() == f"[{text}]"
    for bits in ("7fffffffffffffff", "7ff0000000000000", "fff0000000000000"):
        with pytest.raises(NotCanonical):
            canonical_bytes(struct.unpack(">d", bytes.fromhex(bits))[0])


@effort()
@given(st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack(">d", struct.pack(">Q", bits))[0]))
def test_any_double_is_written_or_refused_as_by_the_reference(number: float) -> None:
    if number - number != 0:
        with pytest.raises(NotCanonical):
            canonical_bytes(number)
    else:
        assert canonical_bytes(number) == rfc8785.dumps(number)
        assert float(canonical_bytes(number)) == number


@effort()
@given(INVALID)
def test_canonical_text_equals_reference_or_is_refused_with_pointer(value: Any) -> None:
    try:
        written = soon(canonical_bytes, value)
    except NotCanonical as refused:
        assert json_problem(value) == (refused.path, refused.problem)  # noqa: PT017 either of the two may happen
        assert is_there(value, refused.path)  # noqa: PT017
        with pytest.raises(ValueError):  # noqa: PT011 of any wording: it is the reference's own
            rfc8785.dumps(value)
        return
    assert json_problem(value) is None
    assert canonical_bytes(json.loads(written)) == written


@st.composite
def reordered(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: draw(reordered(value[key])) for key in draw(st.permutations(sorted(value)))}
    return [draw(reordered(item)) for item in value] if isinstance(value, list) else value


@effort()
@given(st.data(), JSON)
def test_order_of_keys_keeps_the_digest(data: st.DataObject, value: Any) -> None:
    if json_problem(value) is None:
        assert digest(data.draw(reordered(value))) == digest(value)
