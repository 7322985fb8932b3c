import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import MAX_DEPTH, MAX_ITEMS, MAX_VALUES, parse_strict_json

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=40)


def refusal(raw: bytes) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        parse_strict_json(raw)
    return caught.value


def found(raw: bytes) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in refusal(raw).errors]


@given(DOCUMENTS)
def test_clean_document_equals_the_standard_parse(document: Any) -> None:
    for raw in (json.dumps(document).encode(), json.dumps(document, ensure_ascii=False, indent=1).encode()):
        assert parse_strict_json(raw) == json.loads(raw)


def test_floats_keep_their_text() -> None:
    value = parse_strict_json(b'{"rate": 0.10, "many": [1e2, 5]}')
    assert isinstance(value["rate"], JsonFloat)
    assert value["rate"].text == "0.10"
    assert [type(each) for each in value["many"]] == [JsonFloat, int]


@pytest.mark.parametrize("raw", [b"", b"{", b"{'a': 1}", b"[1,]", b'"\x01"', b"\xef\xbb\xbf{}", b"nul", b"01", b"1 2"])
def test_malformed_json_is_refused_with_line_and_column(raw: bytes) -> None:
    refused = refusal(raw)
    assert refused.code == "malformed_json"
    assert "line 1" in refused.message


@pytest.mark.parametrize("raw", [b'"\xff"', b'{"a": "\xc3"}', b'"\xed\xa0\x80"', "{}".encode("utf-16")])
def test_invalid_utf8_is_refused(raw: bytes) -> None:
    assert refusal(raw).code in {"invalid_utf8", "malformed_json"}
    assert refusal(b'"\xff"').code == "invalid_utf8"


REFUSED = {
    **{f'{{"a": [1, {name}]}}': [("/a/1", "not_a_number")] for name in ("NaN", "Infinity", "-Infinity")},
    **{f'{{"a": {text}}}': [("/a", "number_out_of_range")] for text in ("1e309", "-1e400", "1" * 310 + ".0")},
    **{
        f'{{"n": {number}}}': [("/n", "unsafe_integer")]
        for number in (MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, 10**300)
    },
    '{"a": 1, "b": [{"x/y": 1, "x/y": 2}], "a": 3}': [("/a", "duplicate_key"), ("/b/0/x~1y", "duplicate_key")],
    r'{"a": 1, "\u0061": 2}': [("/a", "duplicate_key")],
    r'{"a": ["x\u0000y"]}': [("/a/0", "nul_character")],
    r'{"a": ["\ud800"]}': [("/a/0", "lone_surrogate")],
    r'{"a": ["\udc00\ud800"]}': [("/a/0", "lone_surrogate")],
    r'{"k\ud800": 1, "z\u0000": 2}': [("/k\ufffd", "lone_surrogate"), ("/z\ufffd", "nul_character")],
}


@pytest.mark.parametrize(("text", "problems"), REFUSED.items())
def test_values_outside_i_json_are_refused_with_pointers(text: str, problems: list[tuple[str, str]]) -> None:
    assert found(text.encode()) == problems


ACCEPTED = {
    str(MAX_SAFE_INTEGER): MAX_SAFE_INTEGER,
    str(-MAX_SAFE_INTEGER): -MAX_SAFE_INTEGER,
    '{"iban": "12345678901234567890"}': {"iban": "12345678901234567890"},
    r'"\ud83d\ude00"': "😀",
    r'"\\u0000"': r"\u0000",
}


@pytest.mark.parametrize(("text", "value"), ACCEPTED.items())
def test_i_json_is_accepted(text: str, value: Any) -> None:
    assert parse_strict_json(text.encode()) == value


@pytest.mark.parametrize("text", ["9" * 1_000_000, "0." + "1" * 1_000_000])
def test_number_of_a_million_digits_is_refused(text: str) -> None:
    assert refusal(text.encode()).errors[0].code in {"unsafe_integer", "number_too_long"}


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_depth_is_bounded(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    assert parse_strict_json(opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH) is not None
    assert refusal(opening * (MAX_DEPTH + 1) + b"1" + closing * (MAX_DEPTH + 1)).code == "json_too_deep"
    assert refusal(opening * 1_000_000).code == "json_too_deep"


def test_brackets_in_text_do_not_count_as_depth() -> None:
    text = '\\"[{' * 100
    assert parse_strict_json(json.dumps([text] * 70).encode()) == [text] * 70


def test_unterminated_text_takes_linear_time() -> None:
    raw = b"[" * 65 + b'"' + b'\\"' * 2_000_000
    assert refusal(raw).code == "json_too_deep"


def test_arrays_objects_and_documents_have_bounded_sizes() -> None:
    for raw in (b"[" + b"0," * MAX_ITEMS + b"0]", json.dumps({str(name): 0 for name in range(MAX_ITEMS + 1)}).encode()):
        assert found(b'{"list": ' + raw + b"}") == [("/list", "too_many_items")]
    assert len(parse_strict_json(b"[" + b"0," * (MAX_ITEMS - 1) + b"0]")) == MAX_ITEMS
    assert len(parse_strict_json(json.dumps(["," * (MAX_VALUES + 1)]).encode())[0]) == MAX_VALUES + 1
    assert refusal(b"[" + b"[0,0,0,0,0,0,0,0,0,0]," * 120_000 + b"0]").code == "too_many_values"


def test_problems_and_their_paths_are_bounded() -> None:
    assert len(found(b'{"a": NaN, "b": Infinity, "c": [-Infinity]}')) == 3
    assert len(found(b"[" + b"NaN," * 500 + b"1]")) == 100
    path, _ = found(b'{"' + b"k" * 5_000 + b'": NaN}')[0]
    assert len(path) == 101


def test_problems_repeat_no_value() -> None:
    refused = refusal(rb'{"reference": "CANARY\u0000", "list": ["CANARY\ud800", NaN]}')
    assert "CANARY" not in f"{refused} {refused.message} {[problem.message for problem in refused.errors]}"
