import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aex_outcomes.confinement import encoding, frames
from aex_outcomes.confinement.frames import decode_answer
from aex_outcomes.confinement.settings import JobFailed, JobOutOfMemory
from tests.examples import examples

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


@given(values)
def test_a_value_survives_the_way_there_and_back(value: object) -> None:
    assert frames.decode_untrusted_json(frames.encode_json(value)) == value


@given(st.binary(max_size=60), st.lists(st.integers(0, 70), max_size=5))
def test_a_frame_is_read_however_it_is_cut(body: bytes, cuts: list[int]) -> None:
    reader = frames.FrameReader(limit=100)
    complete = frames.add_length_prefix(body)
    edges = sorted({0, len(complete), *(cut for cut in cuts if cut < len(complete))})
    read = [reader.feed(complete[start:end]) for start, end in itertools.pairwise(edges)]
    assert read == [None] * (len(edges) - 2) + [body]


def test_a_frame_above_the_limit_is_refused_at_its_first_four_bytes() -> None:
    reader = frames.FrameReader(limit=100)
    assert reader.feed(b"\x00\x00\x00") is None
    with pytest.raises(frames.BrokenFrame, match="101 bytes"):
        reader.feed(b"\x65")


def test_bytes_after_a_frame_are_refused() -> None:
    with pytest.raises(frames.BrokenFrame):
        frames.FrameReader(limit=100).feed(frames.add_length_prefix(b"{}") + b"\x00")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"NaN",
        b"-Infinity",
        b"1e400",
        b"9007199254740992",
        b"1" * 5_000,
        b'{"a":1,"a":2}',
        b'"\\ud800"',
        b'"\\\\\\uDFFF"',
        b'"\xed\xa0\x80"',
        b"\xff",
        b"[" * 100_000,
        b"{} {}",
        b"\xef\xbb\xbf{}",
    ],
)
def test_what_is_not_strict_json_is_refused(body: bytes) -> None:
    with pytest.raises(frames.BrokenFrame):
        frames.decode_untrusted_json(body)


def test_a_text_that_only_looks_like_a_surrogate_is_taken() -> None:
    assert frames.decode_untrusted_json(frames.encode_json(r"\ud800 \\ud800")) == r"\ud800 \\ud800"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"result": {}},
        {"result": {}, "retire": 0},
        {"result": [], "retire": False},
        {"result": {}, "retire": False, "more": 1},
        {"result": {}, "error": {"kind": "", "message": ""}, "retire": False},
        {"error": "text", "retire": False},
        {"error": {"kind": "E"}, "retire": False},
        {"error": {"kind": "E", "message": 1}, "retire": False},
        {"error": {"kind": "E" * 101, "message": ""}, "retire": False},
        {"error": {"kind": "E", "message": "m" * 2_001}, "retire": False},
        {"memory": True, "retire": False},
        {"memory": 1},
    ],
)
def test_an_answer_of_another_shape_is_refused(answer: object) -> None:
    with pytest.raises(frames.BrokenFrame):
        decode_answer(frames.encode_json(answer))


def test_answers_are_read_as_what_they_say() -> None:
    done = decode_answer(b'{"result":{"a":1},"retire":true}')
    assert (done.result, done.error, done.retire) == ({"a": 1}, None, True)
    failed = decode_answer(b'{"error":{"kind":"E","message":"m"},"retire":false}')
    assert isinstance(failed.error, JobFailed)
    assert not failed.retire
    assert str(JobFailed("E", "")) == "E"
    out = decode_answer(b'{"memory":true,"retire":true}')
    assert isinstance(out.error, JobOutOfMemory)


small_values = st.recursive(
    texts | numbers | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=6,
)
big_values = (
    st.builds(lambda text, times: text * times, texts, st.sampled_from([3_000, 10_000]))
    | st.builds(lambda item, times: [item] * times, small_values, st.sampled_from([500, 5_000]))
    | st.builds(lambda item, times: {str(n): item for n in range(times)}, small_values, st.sampled_from([500, 5_000]))
)
mixed_values = st.lists(small_values | big_values, max_size=4) | st.dictionaries(
    texts, small_values | big_values, max_size=4
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(texts, mixed_values, max_size=2))
def test_encoding_in_bites_gives_the_same_bytes(value: dict[str, object]) -> None:
    assert encoding.encode_in_pieces(value) == frames.encode_json(value)


async def test_a_value_is_encoded_similar_however_big() -> None:
    for size in (0, 10, 10_000, 100_000):
        value = {"rows": [{"n": n, "half": n / 2} for n in range(size)], "k" * size: "é" * size}
        assert json.loads(await encoding.encode_without_blocking(value)) == value


@pytest.mark.parametrize("bad", [float("inf"), object(), {1, 2}])
async def test_what_is_not_json_is_refused_however_big(bad: object) -> None:
    for filler in ("", "x" * 200_000):
        with pytest.raises((ValueError, TypeError)):
            await encoding.encode_without_blocking({"filler": filler, "bad": bad})
